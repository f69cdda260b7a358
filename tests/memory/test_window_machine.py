"""Windows in any order of calls: slide, fork, copy-on-write, prefixes, free, beside a model that keeps whole texts.

Every slot of a memory of plain numbers holds the text up to the token that was last written there. Whatever was
released, shared, copied or found again, each sequence must find, in every slot that its next token sees, its own text.
"""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kvlab.errors import OutOfBlocks, UsageError
from kvlab.memory import WindowManager, WindowPrefixCache
from tests.memory.snapshots import snapshot

ids = st.sampled_from("abcde")
texts = st.lists(st.integers(0, 1), max_size=20)


class WindowMachine(RuleBasedStateMachine):
    """`texts` and `gone` are the model: what each sequence has said, and which of its blocks it let go of."""

    @initialize(num_blocks=st.integers(3, 16), size=st.integers(1, 4), window=st.integers(1, 9))
    def begin(self, num_blocks: int, size: int, window: int) -> None:
        self.manager, self.size, self.window = WindowManager(num_blocks, size, window), size, window
        self.pool = self.manager.pool
        self.index = WindowPrefixCache(self.pool, size, window)  # type: ignore[arg-type]
        self.memory: list[tuple[int, ...] | None] = [None] * (num_blocks * size)
        self.texts: dict[str, list[int]] = {}
        self.gone: dict[str, set[int]] = {}

    def tried(self, call) -> bool:
        """Whether the pool could give what `call` needs; if not, nothing may have changed (I13)."""
        before = snapshot(self.manager)
        try:
            call()
        except OutOfBlocks as error:
            assert error.needed > error.free == self.pool.num_free
            assert snapshot(self.manager) == before
            return False
        return True

    def write(self, seq_id: str, slots: list[int], tokens: list[int]) -> None:
        for slot, token in zip(slots, tokens, strict=True):
            assert self.pool.ref_count(slot // self.size) == 1 and slot // self.size != 0  # I5
            self.texts[seq_id].append(token)
            self.memory[slot] = tuple(self.texts[seq_id])

    def copy(self, copies: list[tuple[int, int]]) -> None:
        size = self.size
        read = [self.memory[source * size : (source + 1) * size] for source, _ in copies]
        for (_, target), block in zip(copies, read, strict=True):
            self.memory[target * size : (target + 1) * size] = block

    def unseen(self, seq_id: str, tokens: int) -> set[int]:
        """Blocks none of whose tokens a query at position `tokens`, or a later one, sees: by looking at each."""
        places = range(len(self.manager.table(seq_id)))
        ends = {place: (place + 1) * self.size - 1 for place in places}
        return {place for place, end in ends.items() if end <= tokens - self.window}

    @rule(seq_id=ids, text=texts)
    def admit(self, seq_id: str, text: list[int]) -> None:
        if seq_id in self.texts:
            return
        found = self.index.match(text)
        if not self.tried(lambda: self.manager.admit(seq_id, len(text), found.blocks)):
            return
        self.texts[seq_id] = text[: found.num_tokens]
        self.gone[seq_id] = {place for place, block in enumerate(found.blocks) if block == 0}
        self.write(seq_id, self.manager.slots(seq_id, found.num_tokens).tolist(), text[found.num_tokens :])

    @rule(seq_id=ids, tokens=st.lists(st.integers(0, 1), max_size=7))
    def append(self, seq_id: str, tokens: list[int]) -> None:
        if seq_id not in self.texts:
            return
        found: list = []
        if self.tried(lambda: found.append(self.manager.append_cow(seq_id, len(tokens)))):
            self.copy(found[0].copies)
            self.write(seq_id, found[0].slots.tolist(), tokens)

    @rule(chosen=st.lists(ids, unique=True), token=st.integers(0, 1))
    def append_each(self, chosen: list[str], token: int) -> None:
        chosen = [seq_id for seq_id in chosen if seq_id in self.texts]
        found: list = []
        if self.tried(lambda: found.append(self.manager.append_each(chosen))):
            slots, copies = found[0]
            self.copy(copies)
            for seq_id, slot in zip(chosen, slots, strict=True):
                self.write(seq_id, [slot], [token])

    @rule(seq_id=ids, back=st.integers(-1, 6))
    def slide(self, seq_id: str, back: int) -> None:
        tokens = len(self.texts.get(seq_id, [])) - back
        if seq_id not in self.texts or back < 0 or tokens < 0:
            before = snapshot(self.manager)
            with pytest.raises(UsageError):
                self.manager.slide(seq_id, tokens)
            assert snapshot(self.manager) == before
            return
        leaving = self.unseen(seq_id, tokens) - self.gone[seq_id]
        assert self.manager.slide(seq_id, tokens) == len(leaving)
        self.gone[seq_id] |= leaving

    @rule(parent=ids, children=st.lists(ids, unique=True, max_size=3))
    def fork(self, parent: str, children: list[str]) -> None:
        children = [child for child in children if child not in self.texts]
        if parent in self.texts:
            self.manager.fork(parent, children)
            for child in children:
                self.texts[child], self.gone[child] = list(self.texts[parent]), set(self.gone[parent])

    @rule(seq_id=ids, remap=st.booleans())
    def publish(self, seq_id: str, remap: bool) -> None:
        if seq_id in self.texts:
            others = self.index.publish(self.texts[seq_id], self.manager.table(seq_id))
            if remap:
                self.manager.remap(seq_id, others)

    @rule(seq_id=ids)
    def free(self, seq_id: str) -> None:
        if seq_id in self.texts:
            self.manager.free(seq_id)
            del self.texts[seq_id], self.gone[seq_id]

    @precondition(lambda self: self.pool.num_cached)  # type: ignore[attr-defined]
    @rule()
    def forget(self) -> None:
        assert self.index.evict(1) == 1

    @invariant()
    def all_invariants_hold(self) -> None:
        self.manager.check()
        self.index.check()

    @invariant()
    def everybody_finds_their_own_text_in_all_that_the_next_token_sees(self) -> None:
        for seq_id, text in self.texts.items():
            start = max(0, len(text) - self.window + 1)
            slots = self.manager.slots(seq_id, start).tolist()
            assert [self.memory[slot] for slot in slots] == [tuple(text[: n + 1]) for n in range(start, len(text))]

    @invariant()
    def tables_name_the_null_block_for_what_is_gone_and_the_pool_misses_only_the_rest(self) -> None:
        named = set()
        for seq_id, gone in self.gone.items():
            table = self.manager.table(seq_id)
            assert {place for place, block in enumerate(table) if block == 0} == gone
            named |= set(table) - {0}
        assert self.pool.num_blocks - 1 - self.pool.num_free == len(named)


WindowMachine.TestCase.settings = settings(max_examples=80, stateful_step_count=40, deadline=None)
TestWindowsInAnyOrder = WindowMachine.TestCase
