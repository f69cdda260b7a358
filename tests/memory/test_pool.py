"""The block pool by hand: counts, refusals, the null block, and that `check` sees all damage."""

from __future__ import annotations

import numpy as np
import pytest

from kvlab.errors import InvariantBroken, OutOfBlocks, UsageError
from kvlab.memory import BlockPool, Pool
from tests.memory.snapshots import refused


def test_blocks_are_taken_from_the_lowest_number_and_the_last_freed_come_back_first() -> None:
    pool = BlockPool(8)
    assert pool.take(3) == [0, 1, 2]
    assert pool.take(2) == [3, 4]
    pool.release([1, 2])
    assert pool.take(3) == [1, 2, 5]
    assert pool.take(0) == []
    pool.check()


def test_a_taken_block_has_one_holder_and_a_shared_one_two() -> None:
    pool = BlockPool(4)
    pool.take(2)
    pool.share([1])
    assert [pool.ref_count(block) for block in range(4)] == [1, 2, 0, 0]
    pool.release([0, 1])
    assert [pool.ref_count(block) for block in range(4)] == [0, 1, 0, 0]
    assert pool.num_free == 3
    pool.check()


def test_too_many_blocks_are_refused_whole_with_both_numbers() -> None:
    pool = BlockPool(4)
    pool.take(1)
    raised = refused(OutOfBlocks, pool, call=lambda: pool.take(4), match="needed 4 free blocks, there were 3")
    assert (raised.value.needed, raised.value.free) == (4, 3)
    assert pool.take(3) == [1, 2, 3]
    refused(OutOfBlocks, pool, call=lambda: pool.take(1), match="needed 1 free block, there were 0")


def test_a_double_free_is_refused_and_names_block_and_count() -> None:
    pool = BlockPool(4)
    pool.take(3)
    pool.release([1])
    refused(UsageError, pool, call=lambda: pool.release([1]), match="block 1 is released 1 time .*count is 0")
    refused(UsageError, pool, call=lambda: pool.release([0, 2, 1]), match="block 1 .*count is 0")
    assert [pool.ref_count(block) for block in range(4)] == [1, 0, 1, 0]


def test_a_list_that_names_a_block_more_often_than_it_is_held_is_refused_whole() -> None:
    pool = BlockPool(4)
    pool.take(3)
    pool.share([2])
    refused(UsageError, pool, call=lambda: pool.release([0, 2, 2, 2]), match="block 2 is released 3 times .*count is 2")
    pool.release([0, 2, 2])
    assert pool.num_free == 3


@pytest.mark.parametrize("block", [-1, 4, 99])
def test_a_block_the_pool_does_not_have_is_refused(block: int) -> None:
    pool = BlockPool(4)
    pool.take(4)
    for call in (
        lambda: pool.release([0, block]),
        lambda: pool.share([0, block]),
        lambda: pool.publish(block, "x"),
        lambda: pool.ref_count(block),
    ):
        refused(UsageError, pool, call=call, match=f"no block {block}: the pool has blocks 0 to 3")


@pytest.mark.parametrize("blocks", [3, None, [0, "1"], [0, 1.0], [[0]], "01"])
def test_what_is_not_a_list_of_blocks_is_refused(blocks: object) -> None:
    pool = BlockPool(4)
    pool.take(4)
    refused(UsageError, pool, call=lambda: pool.release(blocks), match="list of whole numbers")  # type: ignore[arg-type]
    refused(UsageError, pool, call=lambda: pool.share(blocks), match="list of whole numbers")  # type: ignore[arg-type]


def test_counts_that_can_never_be_right_are_refused() -> None:
    pool = BlockPool(4)
    refused(UsageError, pool, call=lambda: pool.take(-1), match="-1")
    refused(TypeError, pool, call=lambda: pool.take(1.5))  # type: ignore[arg-type]
    for blocks in (0, -3):
        with pytest.raises(UsageError, match=str(blocks)):
            BlockPool(blocks)


def test_numpy_ids_are_as_good_as_plain_ones_and_do_not_stay() -> None:
    pool = BlockPool(4)
    taken = np.array(pool.take(3))
    pool.share(taken)
    pool.release(taken)
    pool.release(iter(taken))
    assert {type(block) for block in pool.take(3)} == {int}


def test_the_null_block_is_never_handed_out_and_never_freed() -> None:
    pool = BlockPool(4, null_block=True)
    assert pool.null == 0
    assert pool.num_free == 3
    assert pool.take(3) == [1, 2, 3]
    pool.share([0, 0])
    pool.release([0, 1, 0])
    pool.check()
    refused(UsageError, pool, call=lambda: pool.release([2, 0, 3]), match="block 0 is released 1 time .*count is 0")
    refused(UsageError, pool, call=lambda: pool.publish(0, "A"), match="block 0")
    with pytest.raises(UsageError, match="at least 2 blocks, not 1"):
        BlockPool(1, null_block=True)


def test_without_a_null_block_block_0_is_like_any_other() -> None:
    pool = BlockPool(1)
    assert pool.null is None
    assert pool.take(1) == [0]


def test_the_pool_says_how_full_it_is_and_offers_what_a_pool_must() -> None:
    pool = BlockPool(4)
    pool.publish(pool.take(2)[1], "A")
    pool.release([1])
    assert repr(pool) == "BlockPool(4 blocks, 3 free, 1 of these with a hash)"
    assert isinstance(pool, Pool)


def used_and_cached() -> BlockPool:
    """Blocks 0 and 1 in use, 0 of them published; 2 and 3 free and cached; 4 and 5 free."""
    pool = BlockPool(6)
    for block, key in zip(pool.take(4), "AxCD", strict=True):
        if key != "x":
            pool.publish(block, key)
    pool.release([2, 3])
    pool.check()
    return pool


@pytest.mark.parametrize(
    ("damage", "invariant"),
    [
        (lambda pool: pool.counts.__setitem__(1, 0), "I1"),  # leaked: neither used nor free
        (lambda pool: pool.counts.__setitem__(4, 1), "I1"),  # used and free
        (lambda pool: pool.counts.__setitem__(2, 1), "I1"),  # used and cached
        (lambda pool: pool._blank.append(4), "I1"),  # free twice
        (lambda pool: pool._blank.append(2), "I1"),  # free and cached
        (lambda pool: pool._blank.pop(), "I1"),
        (lambda pool: pool._blank.append(6), "I1"),  # a block that does not exist
        (lambda pool: (pool._blank.remove(4), pool._blank.append(77)), "I1"),
        (lambda pool: pool.counts.__setitem__(1, -1), "I1"),
        (lambda pool: pool._block_of.pop("A"), "hashes"),
        (lambda pool: pool._key_of.pop(0), "hashes"),
        (lambda pool: pool._block_of.update(A=1), "hashes"),
        (lambda pool: (pool._block_of.pop("C"), pool._key_of.pop(2)), "hashes"),  # cached without a hash
        (lambda pool: (pool._block_of.update(E=5), pool._key_of.update({5: "E"})), "hashes"),  # among the blank
        (lambda pool: pool._cached._next.__setitem__(3, 6), "links"),
        (lambda pool: pool._cached._prev.__setitem__(2, 6), "links"),
        (lambda pool: setattr(pool._cached, "_length", 1), "links"),
    ],
)
def test_a_damaged_pool_is_found_out(damage, invariant: str) -> None:
    pool = used_and_cached()
    damage(pool)
    with pytest.raises(InvariantBroken, match=invariant):
        pool.check()


def test_a_null_block_that_was_let_go_is_found_out() -> None:
    pool = BlockPool(4, null_block=True)
    pool.counts[0] = 0
    with pytest.raises(InvariantBroken, match="I1"):
        pool.check()
