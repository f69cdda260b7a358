"""Eviction by priority, copies of blocks that fit in part, and chunks on a host: by hand, and against brute force."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvlab.errors import InvariantBroken, UsageError
from kvlab.memory import History, RadixCache
from kvlab.memory.chunks import ChunkTier
from kvlab.memory.partial import match_partly
from kvlab.memory.retention import DEFAULT, HIGHEST, PriorityList, RetentionPool

B = 4


def pool_and_tree(num_blocks: int) -> tuple[RetentionPool, RadixCache]:
    pool = RetentionPool(num_blocks)
    tree = RadixCache(pool, B)
    pool.only_if(tree.is_leaf)
    return pool, tree


def keep(pool: RetentionPool, tree: RadixCache, tokens: list[int], priority: int = DEFAULT) -> list[int]:
    """Compute `tokens` in blocks of their own, publish them, and let them go."""
    found = tree.match([*tokens, 0]).blocks
    pool.share(found)
    blocks = [*found, *pool.take(len(tokens) // B - len(found))]
    tree.publish(tokens, blocks)
    pool.retain(blocks, priority)
    pool.release(blocks)
    return blocks


def test_by_hand_the_lowest_priority_goes_first_and_among_equals_the_least_recently_used():
    pool, tree = pool_and_tree(4)
    (high,) = keep(pool, tree, [1] * B, HIGHEST)
    (old,) = keep(pool, tree, [2] * B)
    (new,) = keep(pool, tree, [3] * B)
    (low,) = keep(pool, tree, [4] * B, 10)
    assert pool.take(4) == [low, old, new, high]


def test_by_hand_a_block_that_others_follow_stays_until_they_are_gone():
    pool, tree = pool_and_tree(3)
    first, second = keep(pool, tree, [1] * B + [2] * B)
    pool.share([first, second])
    pool.retain([first], 0)
    pool.retain([second], 50)
    pool.release([first, second])
    (other,) = keep(pool, tree, [7] * B, 60)
    assert pool.take(3) == [second, first, other]


def test_a_block_that_is_taken_anew_begins_at_the_default_priority():
    pool, tree = pool_and_tree(1)
    (block,) = keep(pool, tree, [1] * B, HIGHEST)
    assert pool.priority(block) == HIGHEST and pool.take(1) == [block] and pool.priority(block) == DEFAULT


def test_priorities_outside_the_scale_and_of_free_blocks_are_refused_and_change_nothing():
    pool, _ = pool_and_tree(2)
    blocks = pool.take(1)
    with pytest.raises(UsageError, match="between 0 and 100, and 101 does not"):
        pool.retain(blocks, 101)
    with pytest.raises(UsageError, match=r"blocks \[1\] are not in use"):
        pool.retain([0, 1], 50)
    assert pool.priority(0) == DEFAULT
    pool.check()


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.tuples(st.lists(st.integers(0, 1), min_size=1, max_size=4), st.sampled_from([0, 35, 100])),
        min_size=1,
        max_size=12,
    )
)
def test_what_is_given_up_is_always_the_lowest_leaf_by_brute_force(texts):
    pool, tree = pool_and_tree(6)
    for text, priority in texts:
        keep(pool, tree, [token for token in text for _ in range(B)], priority)
        tree.check()
    while pool.num_cached:
        free = [block for block in range(6) if pool.key_of(block) is not None]
        leaves = [block for block in free if tree.is_leaf(block)]
        lowest = min(map(pool.priority, leaves))
        before, gone = set(free), 1
        assert pool.evict(gone) == gone
        (lost,) = before - {block for block in range(6) if pool.key_of(block) is not None}
        assert lost in leaves and pool.priority(lost) == lowest
        tree.check()


def test_a_list_whose_levels_disagree_is_found_by_its_check():
    blocks = PriorityList(3)
    blocks.push_all([0, 2])
    blocks.check()
    blocks._level_of[2] = 7
    with pytest.raises(InvariantBroken, match="priorities"):
        blocks.check()


def test_by_hand_the_beginning_of_the_best_fitting_block_can_be_copied():
    pool, tree = pool_and_tree(6)
    keep(pool, tree, [1, 1, 1, 1, 2, 2, 2, 2])
    (_, better) = keep(pool, tree, [1, 1, 1, 1, 2, 2, 3, 3])
    match = match_partly(tree, [1, 1, 1, 1, 2, 2, 3, 4, 5])
    assert (match.num_tokens, match.source, match.extra) == (4, better, 3)
    assert match_partly(tree, [1, 1, 1, 1, 9]).source is None
    assert match_partly(tree, [8]).extra == 0 and match_partly(RadixCache(RetentionPool(1), B), [8, 8]).blocks == []


def test_a_partial_hit_leaves_a_token_over_too():
    pool, tree = pool_and_tree(2)
    (block,) = keep(pool, tree, [1, 2, 3, 4])
    assert match_partly(tree, [1, 2, 3, 4]) == ([], 0, block, 3)
    assert match_partly(tree, [1]) == ([], 0, None, 0)


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=14), max_size=5),
    st.lists(st.integers(0, 1), min_size=1, max_size=14),
)
def test_whole_and_partial_hits_together_are_the_longest_beginning_that_lies_in_full_blocks(texts, wanted):
    pool, tree = pool_and_tree(40)
    for text in texts:
        keep(pool, tree, text[: len(text) // B * B])
    stored = [text[: len(text) // B * B] for text in texts]

    def shared(one, other):
        return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))

    best = max((shared(text, wanted[:-1]) for text in stored), default=0)
    match = match_partly(tree, wanted)
    assert match.num_tokens + match.extra == best and match.num_tokens == best // B * B


def test_by_hand_chunks_are_found_whole_from_the_beginning_and_the_least_recently_used_go():
    tier = ChunkTier(3, chunk_size=4)
    one, two = list(range(10)), list(range(50, 60))
    assert tier.store(one, 10) == 2 and len(tier) == 2  # the last two tokens fill no chunk
    assert tier.match(one) == 8 and tier.match(one[:8]) == 4 and tier.match([9, *one]) == 0
    assert tier.store(one, 10) == 0
    assert tier.store(two, 4) == 1 and tier.store(two, 10) == 1  # the second chunk of `one` has to go, not the first
    assert tier.match(one) == 4 and tier.match(two) == 8
    tier.check()


def test_chunks_of_another_tag_are_not_found_and_histories_are_taken_as_they_are():
    tier = ChunkTier(4, chunk_size=2)
    tier.store(History([1, 2, 3], ("a",)), 3)
    assert tier.match([1, 2, 3], ("a",)) == 2 and tier.match([1, 2, 3]) == 0


def test_of_more_than_fits_the_beginning_is_kept_and_sizes_that_make_no_sense_are_refused():
    tier = ChunkTier(2, chunk_size=2)
    assert tier.store(list(range(9)), 9) == 2 and tier.match(list(range(9))) == 4
    tier.check()
    with pytest.raises(UsageError, match="at least 1 token, not 0"):
        ChunkTier(1, 0)
    with pytest.raises(UsageError, match="at least 1 block, not 0"):
        ChunkTier(0)
