"""The block manager by hand: slots, refusals, waste, pools of other kinds."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from kvlab.errors import OutOfBlocks, UsageError
from kvlab.memory import BlockManager, BlockPool, Waste, slot_mapping
from tests.memory.managers import PlainPool, mixed
from tests.memory.snapshots import refused


def test_tables_grow_from_one_pool_and_slots_follow_the_tables() -> None:
    manager = mixed()
    assert (manager.table("a"), manager.table("b")) == ([0, 2], [1, 3])
    assert manager.slots("a").tolist() == [0, 1, 2, 3, 8, 9]
    assert manager.slots("b", 3).tolist() == [7, 12]
    assert manager.slots("b", 1, 4).tolist() == [5, 6, 7]
    assert manager.slots("b", 2, 2).tolist() == []
    assert manager.slots("b").dtype == np.int64
    assert (manager.num_tokens("a"), len(manager), list(manager), "a" in manager) == (6, 2, ["a", "b"], True)


def test_one_append_gives_one_slot_and_more_give_an_array() -> None:
    manager = mixed()
    slot = manager.append("a")
    assert (type(slot), slot) == (int, 10)
    assert manager.append("a", 3).tolist() == [11, 16, 17]
    assert manager.append("a", 0).tolist() == []
    assert manager.extend("b", 1).tolist() == [13]
    assert manager.num_tokens("a") == 10
    manager.check()


def test_an_admission_returns_a_table_of_ones_own() -> None:
    manager = BlockManager(8, 4)
    manager.admit("a", 5).clear()
    manager.table("a").clear()
    manager.check()
    assert manager.admit("empty", 0) == []
    assert manager.append("empty") == 8


def test_a_freed_sequence_gives_all_its_blocks_back() -> None:
    manager = mixed()
    manager.free("a")
    manager.check()
    assert "a" not in manager
    assert manager.pool.num_free == 6
    assert manager.admit("c", 8) == [0, 2]


def test_an_admission_without_enough_blocks_changes_nothing() -> None:
    manager = mixed()
    raised = refused(OutOfBlocks, manager, call=lambda: manager.admit("c", 17))
    assert (raised.value.needed, raised.value.free) == (5, 4)


def test_an_append_without_a_free_block_changes_nothing() -> None:
    manager = mixed()
    manager.admit("c", 16)
    assert manager.append("a", 2).tolist() == [10, 11]
    refused(OutOfBlocks, manager, call=lambda: manager.append("a"), match="needed 1 free block, there were 0")
    refused(OutOfBlocks, manager, call=lambda: manager.append("b", 9), match="needed 2 free blocks, there were 0")
    assert manager.append("b", 3).tolist() == [13, 14, 15]  # what fits into the last block still does


def test_unknown_and_known_ids_are_refused_where_they_do_not_belong() -> None:
    manager = mixed()
    for call in (
        lambda: manager.append("z"),
        lambda: manager.append("z", 3),
        lambda: manager.slots("z"),
        lambda: manager.free("z"),
        lambda: manager.table("z"),
        lambda: manager.num_tokens("z"),
    ):
        refused(UsageError, manager, call=call, match="no sequence 'z' is admitted")
    refused(UsageError, manager, call=lambda: manager.admit("a", 1), match="'a' is admitted already")
    manager.free("a")
    refused(UsageError, manager, call=lambda: manager.free("a"), match="'a'")


def test_counts_and_positions_that_can_never_be_right_are_refused() -> None:
    manager = mixed()
    refused(UsageError, manager, call=lambda: manager.admit("c", -1), match="-1")
    refused(TypeError, manager, call=lambda: manager.admit("c", 2.5))  # type: ignore[arg-type]
    refused(UsageError, manager, call=lambda: manager.append("a", -1), match="-1")
    refused(TypeError, manager, call=lambda: manager.append("a", 2.5))  # type: ignore[arg-type]
    for start, stop in ((-1, 2), (0, 7), (5, 4)):
        refused(UsageError, manager, call=partial(manager.slots, "a", start, stop), match="6 tokens")
    with pytest.raises(UsageError, match="not 0"):
        BlockManager(8, 0)


def test_nobody_writes_to_a_block_that_others_hold() -> None:
    manager = mixed()
    manager.pool.share([2])
    refused(UsageError, manager, call=lambda: manager.append("a"), match="block 2: it has 2 holders .I5")
    refused(UsageError, manager, call=lambda: manager.append("a", 7), match="I5")
    manager.check(others=[2])
    manager.append("b")
    manager.pool.release([2])
    assert manager.append("a") == 10


def test_a_shared_block_that_is_full_does_not_stop_an_append() -> None:
    manager = BlockManager(8, 4)
    manager.admit("a", 4)
    manager.pool.share([0])
    assert manager.append("a") == 4
    manager.check(others=[0])


def test_a_pool_can_be_brought_along_or_counted() -> None:
    pool = BlockPool(8)
    one, two = BlockManager(pool, 4), BlockManager(pool, 4)
    one.admit("a", 6)
    two.admit("a", 6)
    assert (one.table("a"), two.table("a")) == ([0, 1], [2, 3])
    one.check(others=two.table("a"))
    assert BlockManager(np.int64(3), 4).pool.num_blocks == 3


def test_another_pool_with_the_same_names_will_do() -> None:
    manager = BlockManager(PlainPool(6), 4)
    assert manager.admit("a", 6) == [5, 4]
    assert [manager.append("a") for _ in range(3)] == [18, 19, 12]
    manager.check()
    manager.pool.share([3])
    refused(UsageError, manager, call=lambda: manager.append("a"), match="I5")
    manager.pool.release([3])
    refused(OutOfBlocks, manager, call=lambda: manager.admit("b", 13), match="needed 4 .* were 3")
    assert manager.waste() == Waste(held=9, internal=3, free=12)
    manager.free("a")
    manager.check()
    assert manager.pool.num_free == 6


def test_waste_is_the_empty_end_of_last_blocks() -> None:
    manager = mixed()
    assert manager.waste() == Waste(held=11, internal=5, free=16)
    manager.free("b")
    assert manager.waste() == Waste(held=6, internal=2, free=24)


def test_a_shared_slot_is_held_once() -> None:
    manager = mixed()
    manager.pool.share([0, 2])
    manager._sequences["fork"] = type(manager._sequences["a"])([0, 2], 6)
    manager.check()
    assert manager.waste() == Waste(held=11, internal=5, free=16)


def test_a_null_block_holds_nothing() -> None:
    manager = BlockManager(BlockPool(4, null_block=True), 4)
    assert manager.admit("a", 5) == [1, 2]
    manager.check()
    assert manager.waste() == Waste(held=5, internal=3 + 4, free=4)


def test_slots_agree_with_the_plain_function() -> None:
    manager = BlockManager(64, 5)
    for number in range(4):
        manager.admit(number, 3 * number)
    for _ in range(30):
        for number in range(4):
            manager.append(number)
    for number in range(4):
        count = manager.num_tokens(number)
        for start, stop in ((0, count), (1, count), (4, 6), (5, 10), (count, count), (count - 1, count)):
            expected = slot_mapping(manager.table(number), start, stop, 5)
            assert manager.slots(number, start, stop).tolist() == expected
    manager.check()


def test_the_manager_says_how_full_it_is() -> None:
    assert repr(mixed()).startswith("BlockManager(2 sequences, blocks of 4, BlockPool(8 blocks, 4 free,")
