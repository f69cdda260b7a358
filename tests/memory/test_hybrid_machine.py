"""Groups of layers through random admissions, growth and ends, beside a memory of which slot holds whose token."""

from __future__ import annotations

from itertools import product

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kvlab.errors import OutOfBlocks
from kvlab.memory import blocks_needed
from tests.memory.hybrids import manager
from tests.memory.snapshots import refused, snapshot


class HybridMachine(RuleBasedStateMachine):
    """The model: the text of each sequence, and for each group a memory of which slot holds whose token."""

    @initialize(
        num_blocks=st.integers(6, 24), size=st.integers(1, 3), windows=st.sampled_from([(None, 3), (5, 2, None), (4,)])
    )
    def begin(self, num_blocks: int, size: int, windows: tuple) -> None:
        self.hybrid, self.size, self.windows = manager(num_blocks, windows, 4, size), size, windows
        self.memory: list[object] = [None] * (num_blocks * size)
        self.texts: dict[str, list[object]] = {}
        self.count = 0

    def write(self, seq_id: str, start: int) -> None:
        for group, _ in enumerate(self.windows):
            for place, slot in enumerate(self.hybrid.slots(seq_id, start, len(self.texts[seq_id]), group).tolist()):
                assert self.hybrid.pool.ref_count(slot // self.size) == 1
                self.memory[slot] = group, self.texts[seq_id][start + place]

    def say(self, seq_id: str, tokens: int) -> None:
        self.texts[seq_id] += range(self.count, self.count + tokens)
        self.count += tokens

    @rule(seq_id=st.sampled_from("abc"), tokens=st.integers(0, 20))
    def admit_and_run(self, seq_id: str, tokens: int) -> None:
        if seq_id in self.texts:
            return
        if self.hybrid.blocks_to_admit(tokens) > self.hybrid.pool.num_free:
            refused(OutOfBlocks, self.hybrid, call=lambda: self.hybrid.admit(seq_id, tokens))
            return
        self.hybrid.admit(seq_id, tokens)
        self.texts[seq_id] = []
        for start in range(0, tokens, 4):
            assert self.hybrid.advance(seq_id, start, tokens) >= min(tokens, start + 4)
            self.say(seq_id, min(tokens, start + 4) - start)
            self.write(seq_id, start)

    @rule(chosen=st.lists(st.sampled_from("abcde"), unique=True), slide=st.booleans())
    def append(self, chosen: list[str], slide: bool) -> None:
        chosen = [seq_id for seq_id in chosen if seq_id in self.texts]
        if slide:
            self.hybrid.slide(chosen)
        before = snapshot(self.hybrid)
        try:
            slots, copies = self.hybrid.append_each(chosen)
        except OutOfBlocks:
            assert snapshot(self.hybrid) == before
            return
        read = [self.memory[source * self.size : (source + 1) * self.size] for source, _ in copies]
        for (_, target), block in zip(copies, read, strict=True):
            self.memory[target * self.size : (target + 1) * self.size] = block
        for seq_id, slot in zip(chosen, slots, strict=True):
            self.say(seq_id, 1)
            assert slot == self.hybrid.slots(seq_id, len(self.texts[seq_id]) - 1)[0]
            self.write(seq_id, len(self.texts[seq_id]) - 1)

    @rule(parent=st.sampled_from("abc"), child=st.sampled_from("de"))
    def fork(self, parent: str, child: str) -> None:
        if parent in self.texts and child not in self.texts:
            self.hybrid.fork(parent, [child])
            self.texts[child] = list(self.texts[parent])

    @rule(seq_id=st.sampled_from("abcde"))
    def free(self, seq_id: str) -> None:
        if seq_id in self.texts:
            self.hybrid.free(seq_id)
            del self.texts[seq_id]

    @invariant()
    def every_group_finds_what_its_layers_see(self) -> None:
        self.hybrid.check()
        for (seq_id, text), (group, window) in product(self.texts.items(), enumerate(self.windows)):
            start = 0 if window is None else max(0, len(text) - window + 1)
            slots = self.hybrid.slots(seq_id, start, group=group).tolist()
            assert [self.memory[slot] for slot in slots] == [(group, token) for token in text[start:]]

    @invariant()
    def the_pool_misses_what_is_held_and_nothing_else(self) -> None:
        pool = self.hybrid.pool
        assert pool.num_blocks - 1 - pool.num_free == sum(self.hybrid.num_held(self.texts))
        assert self.hybrid.waste().capacity == len(self.memory)
        full = [group for group, window in enumerate(self.windows) if window is None]
        assert all(
            len(self.hybrid.table(seq_id, group)) == blocks_needed(len(text), self.size)
            for seq_id, text in self.texts.items()
            for group in full
        )


HybridMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestHybridInAnyOrder = HybridMachine.TestCase
