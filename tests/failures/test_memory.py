"""Failures of other systems' block pools and tables that ours must not have (FAILURES.md F4, F5, F11, F13, F14)."""

from __future__ import annotations

from itertools import permutations

import pytest

from kvlab.errors import UsageError
from kvlab.memory import BlockManager, BlockPool, append_tokens, blocks_needed, fork, slot_mapping

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


def carried_out(memory: dict[int, str], size: int, slots: list[int], copies: list[tuple[int, int]], text: str) -> None:
    """Do as a plan says: read every source, write every target, then put the letters of `text` into the slots."""
    read = [[memory.get(source * size + i, "?") for i in range(size)] for source, _ in copies]
    for (_, target), block in zip(copies, read, strict=True):
        memory |= {target * size + i: letter for i, letter in enumerate(block)}
    memory |= dict(zip(slots, text, strict=True))


@pytest.mark.parametrize("order", list(permutations("abc")), ids="".join)
def test_f11_three_forks_of_a_half_full_block_written_and_freed_in_any_order_leak_nothing(order: tuple[str]) -> None:
    size, memory, manager = 4, dict[int, str](), BlockManager(16, 4)
    manager.admit("stem", 6)
    carried_out(memory, size, manager.slots("stem").tolist(), [], "prompt")
    manager.fork("stem", ["a"])
    manager.fork("a", ["b", "c"])
    manager.free("stem")
    for name in order:
        write = manager.append_cow(name, 4)
        carried_out(memory, size, write.slots.tolist(), write.copies, name * 4)
        manager.check()
    for left in (order[0:], order[1:], order[2:], ()):
        for name in left:
            assert "".join(memory[slot] for slot in manager.slots(name).tolist()) == "prompt" + name * 4
        assert manager.pool.num_free == 16 - (1 + 2 * len(left)) * bool(left)
        if left:
            manager.free(left[0])
            with pytest.raises(UsageError, match="no sequence"):
                manager.free(left[0])
        manager.check()


def test_f13_a_block_that_is_source_of_one_copy_and_target_of_the_next_is_read_first() -> None:
    """One step's plans: "b" copies block 1 and leaves it to "a", who is gone; then "d" copies block 3 into block 1."""
    size, memory, manager = 4, dict[int, str](), BlockManager(5, 4)
    for name, text in (("a", "a prompt is"), ("x", "other")):
        manager.admit(name, len(text))
        carried_out(memory, size, manager.slots(name).tolist(), [], text)
    manager.free("x")
    manager.admit("c", 2)
    carried_out(memory, size, manager.slots("c").tolist(), [], "ok")
    manager.fork("a", ["b"])
    manager.fork("c", ["d"])
    first = manager.append_cow("b")
    manager.free("a")
    second = manager.append_cow("d")
    (source, _), (_, target) = first.copies[0], second.copies[0]
    assert source == target
    for copies in (first.copies + second.copies, second.copies + first.copies):  # in either order
        found = dict(memory)
        carried_out(found, size, [*first.slots.tolist(), *second.slots.tolist()], copies, "bd")
        assert "".join(found[slot] for slot in manager.slots("b").tolist()) == "a prompt isb"
        assert "".join(found[slot] for slot in manager.slots("d").tolist()) == "okd"


@pytest.mark.parametrize("order", list(permutations("abc")), ids="".join)
def test_f14_a_block_that_a_table_names_several_times_is_counted_as_often_through_fork_window_and_free(order) -> None:
    """A window that has passed leaves the null block behind, again and again, in each table of a fork."""
    manager = BlockManager(BlockPool(12, null_block=True), 4)
    manager.admit("start", 10)
    kept = manager.table("start")[1:2]
    manager.admit("a", 12, prefix=[0, *kept])  # the first block has left the window
    manager.free("start")
    manager.fork("a", ["b", "c"])
    for name in "abc":
        manager.append_cow(name, 9)
        manager.check()
        window = manager.table(name)[-3:-1]
        manager.admit(f"{name} later", 20, prefix=[0, 0, 0, *window])
        manager.free(name)
        manager.check()
    assert manager.pool.ref_count(0) == 1 + 3 * 3
    for name in order:
        manager.free(f"{name} later")
        manager.check()
    assert manager.pool.num_free == 11 and manager.pool.ref_count(0) == 1


def test_f14_a_pool_counts_a_block_twice_that_a_ring_shaped_table_names_twice() -> None:
    pool = BlockPool(4)
    ring = pool.take(2)
    ring.append(ring[0])
    pool.share(ring[-1:])
    child = fork(ring, pool)
    assert [pool.ref_count(block) for block in (0, 1)] == [4, 2]
    pool.release(ring)
    pool.check()
    assert [pool.ref_count(block) for block in (0, 1)] == [2, 1]
    pool.release(child)
    assert pool.num_free == 4
    pool.check()
