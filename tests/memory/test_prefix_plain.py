"""The plain decisions of prefix caches, compared with the classes that make them in the engine."""

from __future__ import annotations

import random

import pytest

from kvlab.errors import InvariantBroken, UsageError
from kvlab.memory import (
    BlockManager,
    BlockPool,
    CachedBlock,
    PrefixCache,
    RadixCache,
    RadixNode,
    block_hashes,
    evict,
    longest_hit,
    radix_insert,
    radix_match,
)


def texts(seed: int, n: int = 60) -> list[list[int]]:
    """Texts over two letters, so that many begin alike."""
    r = random.Random(seed)
    return [[r.randrange(2) for _ in range(r.randrange(1, 13))] for _ in range(n)]


class Books:
    """A hash cache under pressure, and beside it what the plain functions need to know."""

    def __init__(self) -> None:
        self.manager = BlockManager(BlockPool(12), 2)
        self.cache = PrefixCache(self.manager.pool, 2)
        self.time, self.used, self.chain = 0, dict[int, int](), dict[int, int | None]()

    def serve(self, tokens: list[int]) -> None:
        match = self.cache.match(tokens)
        table = list(self.manager.admit("one", len(tokens), match.blocks))
        others = self.cache.publish(tokens, table)
        self.manager.remap("one", others)
        table = [others.get(place, block) for place, block in enumerate(table)]
        for place, block in enumerate(table):
            self.chain[block] = table[place - 1] if place else None
        self.time += 1
        self.used |= dict.fromkeys(table, self.time)
        self.manager.free("one")

    def cached(self) -> list[CachedBlock]:
        pool = self.manager.pool
        return [CachedBlock(block, self.chain[block], pool.counts[block], self.used[block])
                for block in range(pool.num_blocks) if pool.key_of(block) is not None]  # fmt: skip


@pytest.mark.parametrize("seed", range(5))
def test_longest_hit_is_what_the_hash_cache_finds(seed: int) -> None:
    books = Books()
    for tokens in texts(seed):
        pool, hashes = books.manager.pool, block_hashes(tokens, 2)
        block_of = {pool.key_of(block): block for block in range(pool.num_blocks) if pool.key_of(block) is not None}
        assert longest_hit(hashes, block_of, len(tokens), 2) == books.cache.match(tokens).blocks
        books.serve(tokens)


@pytest.mark.parametrize("seed", range(5))
def test_the_pool_forgets_in_the_order_of_evict(seed: int) -> None:
    books, gone = Books(), list[int]()
    for tokens in texts(seed, 30):
        books.serve(tokens)
    expected = evict(books.cached(), 100)
    for _ in expected:
        before = {entry.block for entry in books.cached()}
        books.cache.evict(1)
        gone += before - {entry.block for entry in books.cached()}
    assert gone == expected and len(gone) > 3


def test_evict_spares_what_is_owned_and_what_leads_to_it() -> None:
    chain = [CachedBlock(1, None, 0, 5), CachedBlock(2, 1, 0, 5), CachedBlock(3, 2, 1, 9), CachedBlock(4, 1, 0, 7)]
    assert evict(chain, 4) == [4]
    with pytest.raises(UsageError, match="-1"):
        evict(chain, -1)


@pytest.mark.parametrize("seed", range(5))
def test_the_plain_tree_finds_what_the_radix_cache_finds_with_blocks_of_one_token(seed: int) -> None:
    manager, root, free = BlockManager(1000, 1), RadixNode(), 0
    cache = RadixCache(manager.pool, 1)
    for number, tokens in enumerate(texts(seed)):
        _, slots = radix_match(root, tokens)
        found = cache.match([*tokens, 9])  # with one token to be left over
        assert len(slots) == found.num_tokens
        others = cache.publish(tokens, manager.admit(number, len(tokens), found.blocks))
        manager.remap(number, others)
        own = [1000 * number + place for place in range(len(tokens))]
        known = len(slots)
        assert radix_insert(root, tokens, own) == own[:known]
        free += known
        root.check()
        kept = [slot for node in root.walk() for slot in node.slots]
        assert len(set(kept)) == len(kept) == len(cache.blocks())


def test_slots_that_the_tree_gave_out_are_not_called_free() -> None:
    root = RadixNode()
    assert radix_insert(root, [1, 2, 3], [10, 11, 12]) == []
    assert radix_insert(root, [1, 2, 4], [10, 11, 20]) == []
    assert radix_insert(root, [1, 2, 4], [10, 30, 31]) == [30, 31]


def test_a_locked_node_that_is_split_can_be_unlocked_from_its_end() -> None:
    root = RadixNode()
    radix_insert(root, [1, 2, 3, 4], [10, 11, 12, 13])
    node, _ = radix_match(root, [1, 2, 3, 4])
    node.lock()
    front, slots = radix_match(root, [1, 2])
    assert slots == [10, 11] and (front.locks, node.locks) == (1, 1) and node.parent is front
    front.lock()
    node.unlock()
    assert (front.locks, node.locks) == (1, 0)
    with pytest.raises(UsageError, match="nobody has locked"):
        node.unlock()
    assert (front.locks, node.locks) == (1, 0)


def test_check_names_the_node_that_does_not_fit() -> None:
    root = RadixNode()
    radix_insert(root, [1, 2], [10, 11])
    root.children[1].slots.pop()
    with pytest.raises(InvariantBroken, match="2 tokens and 1 slots"):
        root.check()
    with pytest.raises(UsageError, match="2 tokens need as many slots, not 1"):
        radix_insert(root, [1, 2], [10])
