"""The block manager in any order of calls, beside a model that writes every token into a memory and reads it back."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kvlab.errors import OutOfBlocks, UsageError
from kvlab.memory import BlockManager, BlockPool, blocks_needed
from tests.memory.snapshots import snapshot

Token = tuple[str, int]
ids = st.sampled_from("abcd")


class ManagerMachine(RuleBasedStateMachine):
    """The model: how many tokens each sequence has, and a memory in which each slot holds the token last written there.

    Blocks are also held from outside, as a prefix tree would hold them: their tokens must then stay as they are.
    """

    @initialize(num_blocks=st.integers(1, 12), block_size=st.integers(1, 5))
    def begin(self, num_blocks: int, block_size: int) -> None:
        self.manager = BlockManager(BlockPool(num_blocks), block_size)
        self.memory: list[Token | None] = [None] * (num_blocks * block_size)
        self.lengths: dict[str, int] = {}
        self.held: list[tuple[int, list[Token | None]]] = []  # blocks held from outside, with what they held then

    def refuses(self, error: type[Exception], call) -> None:
        before = snapshot(self.manager)
        with pytest.raises(error):
            call()
        assert snapshot(self.manager) == before

    def block(self, number: int) -> list[Token | None]:
        size = self.manager.block_size
        return self.memory[number * size : (number + 1) * size]

    def write(self, seq_id: str, slots: list[int]) -> None:
        for slot in slots:
            self.memory[slot] = seq_id, self.lengths[seq_id]
            self.lengths[seq_id] += 1

    @rule(seq_id=ids, num_tokens=st.integers(-1, 40))
    def admit(self, seq_id: str, num_tokens: int) -> None:
        def call() -> list[int]:
            return self.manager.admit(seq_id, num_tokens)

        if seq_id in self.lengths or num_tokens < 0:
            self.refuses(UsageError, call)
        elif blocks_needed(num_tokens, self.manager.block_size) > self.manager.pool.num_free:
            self.refuses(OutOfBlocks, call)
        else:
            assert call() == self.manager.table(seq_id)
            self.lengths[seq_id] = 0
            self.write(seq_id, self.manager.slots(seq_id, 0, num_tokens).tolist())

    @rule(seq_id=ids, count=st.one_of(st.just(1), st.integers(-1, 12)))
    def append(self, seq_id: str, count: int) -> None:
        def call() -> object:
            return self.manager.append(seq_id, count)

        size, length = self.manager.block_size, self.lengths.get(seq_id)
        if length is None or count < 0 or (count and length % size and self.is_outside(self.manager.table(seq_id)[-1])):
            self.refuses(UsageError, call)
        elif blocks_needed(length + count, size) - blocks_needed(length, size) > self.manager.pool.num_free:
            self.refuses(OutOfBlocks, call)
        else:
            slots = call()
            self.write(seq_id, [slots] if isinstance(slots, int) else slots.tolist())

    @rule(seq_id=ids)
    def free(self, seq_id: str) -> None:
        if seq_id not in self.lengths:
            self.refuses(UsageError, lambda: self.manager.free(seq_id))
            return
        self.manager.free(seq_id)
        del self.lengths[seq_id]

    @precondition(lambda self: any(self.lengths.values()))
    @rule(data=st.data())
    def hold_from_outside(self, data: st.DataObject) -> None:
        seq_id = data.draw(st.sampled_from([seq_id for seq_id, length in self.lengths.items() if length]))
        number = data.draw(st.sampled_from(self.manager.table(seq_id)))
        self.manager.pool.share([number])
        self.held.append((number, self.block(number)))

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def let_go_outside(self, data: st.DataObject) -> None:
        number, _ = self.held.pop(data.draw(st.integers(0, len(self.held) - 1)))
        self.manager.pool.release([number])

    def is_outside(self, block: int) -> bool:
        return block in self.outside()

    def outside(self) -> list[int]:
        return [number for number, _ in self.held]

    @invariant()
    def every_token_is_where_it_was_written(self) -> None:
        self.manager.check(others=self.outside())
        for seq_id, length in self.lengths.items():
            assert self.manager.num_tokens(seq_id) == length
            assert [self.memory[slot] for slot in self.manager.slots(seq_id)] == [(seq_id, n) for n in range(length)]

    @invariant()
    def what_is_held_from_outside_is_never_written(self) -> None:
        assert all(self.block(number) == content for number, content in self.held)

    @invariant()
    def counts_and_waste_agree_with_the_model(self) -> None:
        named = Counter(self.outside())
        for seq_id in self.lengths:
            named.update(self.manager.table(seq_id))
        waste, size = self.manager.waste(), self.manager.block_size
        assert waste.capacity == len(self.memory)
        assert waste.free == (len(self.memory) // size - len(named)) * size
        orphans = set(self.outside()) - {block for seq_id in self.lengths for block in self.manager.table(seq_id)}
        assert waste.held == sum(self.lengths.values()) + size * len(orphans)


ManagerMachine.TestCase.settings = settings(max_examples=70, stateful_step_count=35, deadline=None)
TestManagerInAnyOrder = ManagerMachine.TestCase
