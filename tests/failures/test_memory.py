"""Failures of other systems' block pools and tables that ours must not have (FAILURES.md F4, F5)."""

from __future__ import annotations

import pytest

from kvlab.memory import BlockManager, BlockPool, append_tokens, blocks_needed, slot_mapping

BLOCK_SIZES = (1, 2, 4, 16)


def lengths(size: int) -> list[int]:
    """Around every edge: B-1, B, B+1, 2B."""
    return sorted({max(size - 1, 0), size, size + 1, 2 * size})


@pytest.mark.parametrize("size", BLOCK_SIZES)
def test_f4_the_table_is_right_before_each_write_while_sequences_grow_token_by_token(size: int) -> None:
    """A token is written once `append` has returned: by then its slot must be in the table, and hold nothing yet."""
    manager, memory = BlockManager(64, size), {}
    for number, length in enumerate(lengths(size)):
        table = manager.admit(number, length)
        assert len(table) == blocks_needed(length, size)
        memory |= {slot: (number, position) for position, slot in enumerate(manager.slots(number).tolist())}
    for _ in range(2 * size + 2):
        for number in range(len(lengths(size))):  # in turns, so that blocks of different sequences alternate
            position = manager.num_tokens(number)
            slot = manager.append(number)
            assert len(manager.table(number)) == blocks_needed(position + 1, size)
            assert slot == slot_mapping(manager.table(number), position, position + 1, size)[0]
            assert slot not in memory
            memory[slot] = number, position
            manager.check()
    for number in range(len(lengths(size))):
        expected = [(number, position) for position in range(manager.num_tokens(number))]
        assert [memory[slot] for slot in manager.slots(number).tolist()] == expected


@pytest.mark.parametrize("size", BLOCK_SIZES)
@pytest.mark.parametrize("chunk", [1, 2, 5])
def test_f4_a_table_grown_by_the_plain_function_is_right_at_the_same_edges(size: int, chunk: int) -> None:
    for length in lengths(size):
        pool, table, seen = BlockPool(64), [], []
        seen += append_tokens(table, 0, length, pool, size)
        for _ in range(2 * size + 2):
            pool.take(1)  # somebody else takes the next block each time
            seen += append_tokens(table, len(seen), chunk, pool, size) if pool.num_free > 8 else []
            assert len(table) == blocks_needed(len(seen), size)
            assert seen == slot_mapping(table, 0, len(seen), size)
        assert len(set(seen)) == len(seen)


@pytest.mark.parametrize("size", BLOCK_SIZES)
def test_f4_an_exact_multiple_takes_its_next_block_with_the_next_token_and_not_before(size: int) -> None:
    manager = BlockManager(4, size)
    manager.admit("a", 2 * size)
    assert manager.pool.num_free == 2
    manager.append("a")
    assert manager.pool.num_free == 1


def test_f5_the_hash_of_a_block_that_was_reused_for_other_tokens_misses() -> None:
    pool = BlockPool(2)
    for block, key in zip(pool.take(2), ("old 0", "old 1"), strict=True):
        pool.publish(block, key)
    pool.release([0, 1])
    (block,) = pool.take(1)
    assert pool.lookup(f"old {block}") is None
    pool.publish(block, "new")
    assert pool.lookup("new") == block
    assert pool.lookup(f"old {block}") is None
    pool.check()
