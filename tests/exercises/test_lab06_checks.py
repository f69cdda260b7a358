"""The benches of lab 06 by themselves: what they let pass, and what they see."""

from __future__ import annotations

import ast
import inspect

import pytest

from kvlab.course import notebooks, registry
from kvlab.course.declare import Wrong
from kvlab.course.exercises import append_cow_bench, beam_bench, cow_model, fork_bench
from kvlab.memory import BlockPool, append_with_cow, beam_step, fork

LAB = registry.of_lab("06")
each = pytest.mark.parametrize("entry", LAB, ids=lambda entry: entry.name)
SHARED = (4, 6, (("start", 6), ("fork", 0), ("write", 1), ("write", 0)))


def test_a_token_that_is_written_over_shows_as_a_wrong_token():
    world = cow_model.World(4, 6)
    world.start(6)
    world.fork("a")
    world.write("b", world.slot("b", 6))  # into the block that both have
    world.write("a", world.slot("a", 6))
    with pytest.raises(Wrong, match="then b reads a's token 6 at position 6, expected b's token 6"):
        cow_model.same_words(world, "then")


def test_a_copy_carries_the_bytes_to_the_new_block_and_leaves_the_old_one():
    world = cow_model.World(4, 6)
    world.start(6)
    world.fork("a")
    slot, copy = append_with_cow(world.tables["b"], 6, world.pool, 4)
    world.copy(*copy)
    world.write("b", slot)
    cow_model.same_words(world, "then")
    assert world.said["b"] == [*world.said["a"], "b's token 6"]


def test_the_finished_parts_pass_traces_of_every_operation():
    append_cow_bench.run(append_with_cow, SHARED)
    fork_bench.run(fork, (2, 4, (("start", 3), ("fork", 0), ("fork", 1), ("free", 0), ("fork", 2))))
    beam_bench.run(beam_step, (5, ((0, 1), (0, 2), (0, 3)), ((2, 2, 0), (1, 0, 1))))


def test_a_count_that_is_too_high_by_one_is_seen_though_every_table_is_right():
    def holds_on(table, num_tokens, pool, block_size):
        slot, copy = append_with_cow(table, num_tokens, pool, block_size)
        if copy:
            pool.share([copy[1]])
        return slot, copy

    with pytest.raises(Wrong, match="reference count 2, expected 1: it is in the table of b"):
        append_cow_bench.run(holds_on, SHARED)


def test_a_trace_is_shown_as_lines_that_can_be_run():
    lines = cow_model.render(SHARED)
    names = {"fork": fork, "append_with_cow": append_with_cow, "BlockPool": BlockPool}
    exec("; ".join(lines), names)  # in one line, as it is shown where there is little room
    assert len(names["a"]) == len(names["b"]) == 2 and names["a"] != names["b"]


@each
def test_advice_is_never_cut(entry):
    advice = [piece.next for piece in (*entry.checks, *entry.mistakes) if piece.next]
    assert all(len(piece.next or "") for piece in entry.checks)
    assert max(map(len, advice)) <= 73, max(advice, key=len)


@each
def test_the_finished_part_takes_the_arguments_of_the_labs_signature(entry):
    source = notebooks.solved_source(entry)
    lab = [argument.arg for argument in ast.parse(source).body[0].args.args]
    assert lab == list(inspect.signature(registry.part_of(entry)).parameters)
