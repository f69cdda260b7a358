"""Fork, copy-on-write, prefixes and free in any order, beside a model that keeps every sequence's tokens apart.

Blocks of plain numbers stand for keys and values: each write puts a number of its own into its slot, each copy is
carried out as planned. The model copies whole lists at a fork and shares nothing, so a write that leaks into a sibling
shows as a wrong number there, and not only as a wrong count.
"""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kvlab.errors import OutOfBlocks, UsageError
from kvlab.memory import BlockManager, BlockPool, saved_blocks
from tests.memory.snapshots import snapshot

ids = st.sampled_from("abcdef")


class SharingMachine(RuleBasedStateMachine):
    """`tokens` is the model: what each sequence has written, in a list that nobody else can touch."""

    @initialize(num_blocks=st.integers(1, 14), size=st.integers(1, 4))
    def begin(self, num_blocks: int, size: int) -> None:
        self.manager, self.size = BlockManager(BlockPool(num_blocks), size), size
        self.memory: list[list[int | None]] = [[None] * size for _ in range(num_blocks)]
        self.tokens: dict[str, list[int]] = {}
        self.cached: dict[tuple[int, ...], int] = {}  # a chain's tokens -> its last block
        self.fresh = itertools.count()

    @property
    def free(self) -> int:
        return self.manager.pool.num_free

    def refuses(self, error: type[Exception], call) -> None:
        before = snapshot(self.manager)
        with pytest.raises(error):
            call()
        assert snapshot(self.manager) == before

    def carry_out(self, seq_id: str, slots: list[int], copies: list[tuple[int, int]]) -> None:
        content = [list(self.memory[source]) for source, _ in copies]
        for (_, target), block in zip(copies, content, strict=True):
            self.memory[target] = block
        for slot in slots:
            number = next(self.fresh)
            assert self.manager.pool.ref_count(slot // self.size) == 1  # I5
            self.memory[slot // self.size][slot % self.size] = number
            self.tokens[seq_id].append(number)

    @rule(seq_id=ids, num_tokens=st.integers(-1, 20))
    def admit(self, seq_id: str, num_tokens: int) -> None:
        def call() -> list[int]:
            return self.manager.admit(seq_id, num_tokens)

        if seq_id in self.tokens or num_tokens < 0:
            return self.refuses(UsageError, call)
        if -(-num_tokens // self.size) > self.free:
            return self.refuses(OutOfBlocks, call)
        assert call() == self.manager.table(seq_id)
        self.tokens[seq_id] = []
        self.carry_out(seq_id, self.manager.slots(seq_id).tolist(), [])

    @precondition(lambda self: self.tokens)
    @rule(data=st.data(), children=st.lists(ids, max_size=3))
    def fork(self, data: st.DataObject, children: list[str]) -> None:
        parent = data.draw(st.sampled_from(sorted(self.tokens)))
        if len(set(children)) < len(children) or self.tokens.keys() & set(children):
            return self.refuses(UsageError, lambda: self.manager.fork(parent, children))
        free = self.free
        self.manager.fork(parent, children)
        assert self.free == free
        for child in children:
            self.tokens[child] = list(self.tokens[parent])

    @rule(seq_id=ids, count=st.one_of(st.just(1), st.integers(-1, 7)))
    def append_cow(self, seq_id: str, count: int) -> None:
        def call():
            return self.manager.append_cow(seq_id, count)

        if seq_id not in self.tokens or count < 0:
            return self.refuses(UsageError, call)
        length, table = len(self.tokens[seq_id]), self.manager.table(seq_id)
        shared = bool(count and length % self.size and self.manager.pool.ref_count(table[-1]) > 1)
        missing = -(-(length + count) // self.size) - len(table)
        if missing + shared > self.free:
            return self.refuses(OutOfBlocks, call)
        free = self.free
        write = call()
        assert self.free == free - missing - shared
        assert [source for source, _ in write.copies] == table[-1:] * shared  # the last owner copies nothing
        assert write.slots.tolist() == self.manager.slots(seq_id, length).tolist()
        self.carry_out(seq_id, write.slots.tolist(), write.copies)

    @rule(seq_id=ids)
    def append(self, seq_id: str) -> None:
        if seq_id not in self.tokens:
            return self.refuses(UsageError, lambda: self.manager.append(seq_id))
        partial, table = len(self.tokens[seq_id]) % self.size, self.manager.table(seq_id)
        if partial and self.manager.pool.ref_count(table[-1]) > 1:
            return self.refuses(UsageError, lambda: self.manager.append(seq_id))
        if not partial and not self.free:
            return self.refuses(OutOfBlocks, lambda: self.manager.append(seq_id))
        self.carry_out(seq_id, [self.manager.append(seq_id)], [])

    @rule(seq_id=ids)
    def release(self, seq_id: str) -> None:
        if seq_id not in self.tokens:
            return self.refuses(UsageError, lambda: self.manager.free(seq_id))
        self.manager.free(seq_id)
        del self.tokens[seq_id]

    @precondition(lambda self: any(len(tokens) >= self.size for tokens in self.tokens.values()))
    @rule(data=st.data())
    def publish(self, data: st.DataObject) -> None:
        full = sorted(name for name, tokens in self.tokens.items() if len(tokens) >= self.size)
        seq_id = data.draw(st.sampled_from(full))
        for position, block in enumerate(self.manager.table(seq_id)[: len(self.tokens[seq_id]) // self.size]):
            key = tuple(self.tokens[seq_id][: (position + 1) * self.size])
            self.manager.pool.publish(block, key)  # type: ignore[attr-defined]
            self.cached[key] = block

    @precondition(lambda self: self.cached)
    @rule(data=st.data(), seq_id=ids, more=st.integers(-1, 9))
    def admit_with_a_prefix(self, data: st.DataObject, seq_id: str, more: int) -> None:
        wanted, prefix = data.draw(st.sampled_from(sorted(self.cached))), list[int]()
        for stop in range(self.size, len(wanted) + 1, self.size):
            block = self.manager.pool.lookup(wanted[:stop])  # type: ignore[attr-defined]
            if block is None:
                break
            prefix.append(block)
        total = len(prefix) * self.size + more

        def call() -> list[int]:
            return self.manager.admit(seq_id, total, prefix)

        if seq_id in self.tokens or total < 0 or (more < 0 and prefix):
            return self.refuses(UsageError, call)
        lying_free = sum(self.manager.pool.ref_count(block) == 0 for block in prefix)
        if -(-total // self.size) - len(prefix) + lying_free > self.free:
            return self.refuses(OutOfBlocks, call)
        assert call()[: len(prefix)] == prefix
        self.tokens[seq_id] = list(wanted[: len(prefix) * self.size])
        self.carry_out(seq_id, self.manager.slots(seq_id, len(self.tokens[seq_id])).tolist(), [])

    @invariant()
    def everybody_has_their_own_tokens_and_all_invariants_hold(self) -> None:
        self.manager.check()
        for seq_id, tokens in self.tokens.items():
            slots = self.manager.slots(seq_id).tolist()
            assert [self.memory[slot // self.size][slot % self.size] for slot in slots] == tokens

    @invariant()
    def counts_are_table_entries_and_nothing_leaks(self) -> None:
        named = Counter(block for seq_id in self.tokens for block in self.manager.table(seq_id))
        assert self.manager.pool.num_blocks - self.free == len(named)
        assert all(self.manager.pool.ref_count(block) == named[block] for block in range(len(self.memory)))

    @invariant()
    def savings_are_those_of_a_count_by_hand(self) -> None:
        tables = [self.manager.table(seq_id) for seq_id in self.tokens]
        entries = sum(map(len, tables))
        used = self.manager.pool.num_blocks - self.free
        assert saved_blocks(tables) == ((entries - used) / entries if entries else 0)


SharingMachine.TestCase.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
TestSharingInAnyOrder = SharingMachine.TestCase
