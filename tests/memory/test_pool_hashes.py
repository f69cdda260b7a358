"""What a freed block of the pool still remembers: hashes that are published, found, and given up in order."""

from __future__ import annotations

from kvlab.errors import UsageError
from kvlab.memory import BlockPool
from tests.memory.snapshots import refused


def test_a_free_block_without_a_hash_cannot_be_shared() -> None:
    pool = BlockPool(4)
    pool.take(2)
    refused(UsageError, pool, call=lambda: pool.share([0, 3]), match="block 3 is free .*count 0")


def test_a_freed_block_keeps_its_hash_until_it_is_reused() -> None:
    pool = BlockPool(3)
    a, b = pool.take(2)
    pool.publish(a, "A")
    pool.release([a, b])
    assert pool.lookup("A") == a
    assert (pool.num_free, pool.num_cached) == (3, 1)
    assert pool.take(2) == [b, 2]  # those without a hash go first
    assert pool.lookup("A") == a
    assert pool.take(1) == [a]
    assert pool.lookup("A") is None
    pool.check()


def test_a_cached_block_can_be_had_back_from_the_middle_of_the_free_list() -> None:
    pool = BlockPool(4)
    for block, key in zip(pool.take(4), "ABCD", strict=True):
        pool.publish(block, key)
    pool.release([0])
    pool.release([1])
    pool.release([2])
    pool.share([1])
    pool.check()
    assert pool.ref_count(1) == 1
    assert pool.take(2) == [0, 2]  # least recently used first, and 1 is no longer among them
    assert [pool.lookup(key) for key in "ABCD"] == [None, 1, None, 3]


def test_a_sequences_end_is_given_up_before_its_beginning() -> None:
    pool = BlockPool(3)
    for block, key in zip(pool.take(3), "ABC", strict=True):
        pool.publish(block, key)
    pool.release([0, 1, 2])
    assert pool.take(1) == [2]


def test_a_release_of_a_shared_block_keeps_it_out_of_the_free_list() -> None:
    pool = BlockPool(2)
    pool.take(1)
    pool.publish(0, "A")
    pool.share([0])
    pool.release([0])
    assert (pool.num_free, pool.num_cached) == (1, 0)
    pool.release([0])
    assert (pool.num_free, pool.num_cached) == (2, 1)


def test_the_first_block_published_under_a_hash_stays_the_one_to_be_found() -> None:
    pool = BlockPool(4)
    first, second = pool.take(2)
    assert pool.publish(first, "A") == first
    assert pool.publish(second, "A") == first
    assert pool.publish(first, "A") == first
    pool.check()
    pool.release([second])
    assert pool.num_cached == 0  # the second has no hash and nothing worth keeping
    assert pool.lookup("A") == first


def test_only_a_block_in_use_can_be_published_and_only_once() -> None:
    pool = BlockPool(4)
    pool.take(2)
    pool.publish(0, "A")
    refused(UsageError, pool, call=lambda: pool.publish(0, "B"), match="block 0 is published already")
    refused(UsageError, pool, call=lambda: pool.publish(2, "B"), match="block 2 is not in use")
    refused(TypeError, pool, call=lambda: pool.publish(1, ["unhashable"]))
    pool.release([0])
    refused(UsageError, pool, call=lambda: pool.publish(0, "A"), match="block 0 is not in use")
