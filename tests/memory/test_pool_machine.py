"""The pool in any order of calls, beside a model that searches where the pool looks up."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kvlab.errors import OutOfBlocks, UsageError
from kvlab.memory import BlockPool
from tests.memory.snapshots import snapshot

blocks_named = st.lists(st.integers(-1, 8), max_size=6)
keys = st.sampled_from("ABCDEF")


class PoolMachine(RuleBasedStateMachine):
    """The model: holders and hash of each block, and all free blocks in one list, in the order they will be taken."""

    @initialize(num_blocks=st.integers(2, 8), null_block=st.booleans())
    def begin(self, num_blocks: int, null_block: bool) -> None:
        self.pool = BlockPool(num_blocks, null_block)
        self.null = 0 if null_block else None
        self.holders = [0] * num_blocks
        self.key: dict[int, str] = {}
        self.free = [block for block in range(num_blocks) if block != self.null]

    def refuses(self, error: type[Exception], call) -> None:
        before = snapshot(self.pool)
        with pytest.raises(error):
            call()
        assert snapshot(self.pool) == before

    @rule(count=st.integers(-1, 9))
    def take(self, count: int) -> None:
        if count < 0 or count > len(self.free):
            self.refuses(UsageError if count < 0 else OutOfBlocks, lambda: self.pool.take(count))
            return
        expected, self.free = self.free[:count], self.free[count:]
        assert self.pool.take(count) == expected
        for block in expected:
            self.holders[block] = 1
            self.key.pop(block, None)

    @rule(named=blocks_named)
    def share(self, named: list[int]) -> None:
        known = all(0 <= block < len(self.holders) for block in named)
        if not known or any(block in self.free and block not in self.key for block in named):
            self.refuses(UsageError, lambda: self.pool.share(named))
            return
        self.pool.share(named)
        for block in named:
            self.holders[block] += 1
        self.free = [block for block in self.free if block not in named]

    @rule(named=blocks_named)
    def release(self, named: list[int]) -> None:
        wanted = Counter(named)
        if any(not 0 <= block < len(self.holders) or times > self.holders[block] for block, times in wanted.items()):
            self.refuses(UsageError, lambda: self.pool.release(named))
            return
        self.pool.release(named)
        left = Counter(named)
        let_go = []  # in the order in which they lost their last holder
        for block in named:
            left[block] -= 1
            self.holders[block] -= 1
            if not self.holders[block] and block != self.null:
                let_go.append(block)
        blank = [block for block in let_go if block not in self.key]
        cached = [block for block in reversed(let_go) if block in self.key]
        self.free = blank + self.free + cached

    @precondition(lambda self: any(self.holders))
    @rule(data=st.data())
    def release_what_is_held(self, data: st.DataObject) -> None:
        held = [block for block, count in enumerate(self.holders) for _ in range(count)]
        self.release(data.draw(st.permutations(held))[: data.draw(st.integers(1, len(held)))])

    @precondition(lambda self: any(block in self.key for block in self.free))
    @rule(data=st.data())
    def have_cached_blocks_back(self, data: st.DataObject) -> None:
        cached = [block for block in self.free if block in self.key]
        self.share(data.draw(st.lists(st.sampled_from(cached), min_size=1, max_size=4)))

    @precondition(lambda self: any(self.holders))
    @rule(data=st.data(), key=st.sampled_from("AB"))
    def publish_what_is_held(self, data: st.DataObject, key: str) -> None:
        self.publish(data.draw(st.sampled_from([block for block, count in enumerate(self.holders) if count])), key)

    @rule(block=st.integers(-1, 8), key=keys)
    def publish(self, block: int, key: str) -> None:
        in_use = 0 <= block < len(self.holders) and self.holders[block] and block != self.null
        if not in_use or self.key.get(block, key) != key:
            self.refuses(UsageError, lambda: self.pool.publish(block, key))
            return
        found = next((other for other, theirs in self.key.items() if theirs == key), block)
        assert self.pool.publish(block, key) == found
        if found == block:
            self.key[block] = key

    @rule(named=st.lists(st.integers(0, 7), max_size=4), order=st.permutations(list("ABCDEF")))
    def publish_all(self, named: list[int], order: list[str]) -> None:
        wanted = list(zip(named, order, strict=False))
        known = len(set(named)) == len(named) and all(block < len(self.holders) for block in named)
        if not known or any(
            not self.holders[block] or block == self.null or self.key.get(block, key) != key for block, key in wanted
        ):
            self.refuses(UsageError, lambda: self.pool.publish_all(named, order[: len(named)]))
            return
        others = self.pool.publish_all(named, order[: len(named)])
        for position, (block, key) in enumerate(wanted):
            found = next((other for other, theirs in self.key.items() if theirs == key), block)
            assert others.get(position, block) == found
            if found == block:
                self.key[block] = key

    @rule(block=st.integers(0, 7))
    def withdraw(self, block: int) -> None:
        if block < len(self.holders):
            self.pool.withdraw(block)
            if self.key.pop(block, None) and block in self.free:
                self.free.remove(block)
                self.free.insert(0, block)

    @rule(count=st.integers(0, 3))
    def evict(self, count: int) -> None:
        cached = [block for block in self.free if block in self.key][:count]
        assert self.pool.evict(count) == len(cached)
        for block in cached:
            del self.key[block]
            self.free.remove(block)
            self.free.insert(0, block)

    @rule(wanted=st.lists(keys, max_size=4))
    def lookup_run(self, wanted: list[str]) -> None:
        blocks = {key: block for block, key in self.key.items()}
        known = next((n for n, key in enumerate(wanted) if key not in blocks), len(wanted))
        assert self.pool.lookup_run(wanted) == [blocks[key] for key in wanted[:known]]
        assert all(self.pool.key_of(blocks[key]) == key for key in wanted[:known])

    @rule(key=keys)
    def lookup(self, key: str) -> None:
        assert self.pool.lookup(key) == next((block for block, theirs in self.key.items() if theirs == key), None)

    @invariant()
    def agrees_with_the_model(self) -> None:
        self.pool.check()
        assert self.pool.num_free == len(self.free)
        assert self.pool.num_cached == sum(block in self.key for block in self.free)
        for block, holders in enumerate(self.holders):
            assert self.pool.ref_count(block) == holders + (block == self.null)


PoolMachine.TestCase.settings = settings(max_examples=70, stateful_step_count=35, deadline=None)
TestPoolInAnyOrder = PoolMachine.TestCase
