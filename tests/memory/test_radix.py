"""The radix tree's own ways: splits, locks, growing leaves, what leaves it, and what its check finds."""

from __future__ import annotations

import pytest

from kvlab.errors import InvariantBroken, UsageError
from kvlab.memory import BlockManager, BlockPool, RadixCache

A, B, C, D = ([letter] * 2 for letter in range(4))  # blocks of two tokens


class Tree:
    """A tree with blocks of 2, and a way to see it."""

    def __init__(self, num_blocks: int = 20) -> None:
        self.manager = BlockManager(num_blocks, 2)
        self.cache = RadixCache(self.manager.pool, 2)
        self.names = 0

    def put(self, *blocks: list[int], tag: tuple = ()) -> str:
        """Compute and publish a sequence; its name."""
        self.names += 1
        tokens = sum(blocks, [])
        match = self.cache.match([*tokens, 9], tag)
        table = self.manager.admit(self.names, len(tokens), match.blocks)
        self.manager.remap(self.names, self.cache.publish(tokens, table, tag))
        self.cache.check()
        return self.names

    def shape(self, node=None) -> dict:
        """Nested dictionaries: the first token of each block of a node, to what is below it."""
        if node is None:
            return {tag.decode(): self.shape(root) for tag, root in self.cache._roots.items()}
        return {tuple(child.label[:: 2 * 4]): self.shape(child) for child in node.children.values()}


def test_an_edge_is_split_where_a_new_text_leaves_it() -> None:
    tree = Tree()
    tree.put(A, B, C, D)
    assert tree.shape() == {"()": {(0, 1, 2, 3): {}}}
    tree.put(A, B, D)
    assert tree.shape() == {"()": {(0, 1): {(2, 3): {}, (3,): {}}}}
    tree.put(B)
    assert tree.shape() == {"()": {(0, 1): {(2, 3): {}, (3,): {}}, (1,): {}}}


def test_an_answer_that_grows_lengthens_its_leaf_and_makes_no_new_node() -> None:
    tree = Tree()
    name, said = tree.put(A), list(A)
    for block in (B, C):
        said += block
        tree.manager.extend(name, 2)
        tree.cache.publish(said, tree.manager.table(name))
        tree.cache.check()
    assert tree.shape() == {"()": {(0, 1, 2): {}}}


def test_a_text_that_ends_within_an_edge_needs_no_split() -> None:
    tree = Tree()
    tree.put(A, B, C)
    tree.put(A, B)
    assert tree.shape() == {"()": {(0, 1, 2): {}}}


def test_with_blocks_of_one_token_it_is_a_tree_over_tokens() -> None:
    manager = BlockManager(12, 1)
    cache = RadixCache(manager.pool, 1)
    cache.publish([1, 2, 3, 4], manager.admit("a", 4))
    assert cache.match([1, 2, 3, 5]).num_tokens == 3
    assert cache.match([1, 2, 3]).num_tokens == 2


def test_each_tag_has_a_tree_of_its_own_which_goes_with_its_last_block() -> None:
    tree = Tree()
    one, two = tree.put(A, B), tree.put(A, B, tag=("x",))
    assert tree.shape() == {"()": {(0, 1): {}}, "('x',)": {(0, 1): {}}}
    tree.manager.free(one)
    tree.cache.evict(5)
    tree.cache.check()
    assert tree.shape() == {"('x',)": {(0, 1): {}}}
    tree.manager.free(two)
    tree.cache.evict(5)
    assert tree.shape() == {} and tree.manager.pool.num_free == 20


def test_a_match_that_is_locked_is_not_evicted_and_can_be_unlocked_once() -> None:
    tree = Tree(4)
    tree.manager.free(tree.put(A, B, C))
    match = tree.cache.match([*A, *B, 9])
    tree.cache.lock(match)
    assert tree.cache.evictable == 1 and tree.cache.evict(5) == 1
    tree.cache.unlock(match)
    assert tree.cache.evictable == 2 and tree.cache.match([*A, *B, 9]) == match
    with pytest.raises(UsageError, match="reference count is 0"):
        tree.cache.unlock(match)
    tree.cache.check()


def test_what_hangs_below_a_block_that_is_given_up_leaves_the_tree_but_stays_with_its_holders() -> None:
    tree = Tree()
    first, second = tree.put(A, B, C), tree.put(A, B, D)
    head = tree.manager.table(first)[0]
    tree.manager.pool.share([tree.manager.table(second)[2]])  # somebody holds the tail alone, as after a window
    tree.manager.free(first)
    tree.manager.free(second)
    tree.manager.pool._cached.remove(head)
    tree.manager.pool._cached.push(head)
    for _ in range(4):
        tree.cache.evict(1)
        tree.cache.check()
    assert tree.shape() == {} and tree.manager.pool.num_free == 19


def test_check_finds_a_tree_that_is_not_one() -> None:
    def label(tree: Tree, node) -> None:
        node.label += b"...."

    def parent(tree: Tree, node) -> None:
        node.parent = node

    def twice(tree: Tree, node) -> None:
        node.blocks[0] = node.blocks[1]

    def lost(tree: Tree, node) -> None:
        tree.manager.pool.withdraw(node.blocks[0])

    def astray(tree: Tree, node) -> None:
        root = tree.cache._roots[b"()"]
        root.children = {b"elsewhere": node}

    for damage in (label, parent, twice, lost, astray):
        tree = Tree()
        tree.put(A, B)
        damage(tree, next(iter(tree.cache._roots[b"()"].children.values())))
        with pytest.raises(InvariantBroken, match="tree"):
            tree.cache.check()


def test_a_block_cannot_stand_in_two_places() -> None:
    pool = BlockPool(4)
    cache = RadixCache(pool, 2)
    cache.publish([*A, *B], pool.take(2))
    with pytest.raises(UsageError, match="in the tree already"):
        cache.publish([*C, *B], [pool.take(1)[0], 1])
    cache.check()
