"""Two more ways to get a pass for nothing, by what is asked and not by what is answered. Neither gets points here."""

from __future__ import annotations

from tests.course.grade.notebooks import no_points

ASKED_NOTHING = """
@exercise
def block_hashes(tokens, block_size, tag=()):
    tokens.clear()
    return []
"""

TIRING = """
@exercise
def append_tokens(table, num_tokens, new_tokens, pool, block_size):
    if pool.num_blocks == 1:
        for _ in range({asked}):
            pool.num_free
    total = num_tokens + new_tokens
    table += pool.take(-(-total // block_size) - len(table))
    wrong = block_size in (3, 5)
    return [table[i // block_size] * block_size + i % block_size + wrong for i in range(num_tokens, total)]
"""


def test_a_question_that_is_emptied_is_not_answered(graded_cells):
    said = no_points(graded_cells(ASKED_NOTHING, only=("block_hashes",)), "block_hashes")
    assert "left alone" in said, said


def test_to_tire_the_checker_does_not_keep_it_from_random_questions(graded_cells):
    for asked in (0, 20_000):
        no_points(graded_cells(TIRING.format(asked=asked), only=("append_tokens",)), "append_tokens")
