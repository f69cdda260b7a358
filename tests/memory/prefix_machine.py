"""A model of what a prefix index may find: all published beginnings in one dictionary, and bytes to compare."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

from kvlab.errors import OutOfBlocks
from kvlab.memory import BlockManager, BlockPool, blocks_needed
from tests.memory.snapshots import snapshot

Said = tuple[int, ...]
texts = st.lists(st.sampled_from([0, 1]), min_size=1, max_size=14).map(tuple)
tags = st.sampled_from([(), ("X", None), (None, "X")])


class Talk:
    """A sequence of the model: its tokens, and how many of them are written and how many blocks published."""

    def __init__(self, seq_id: int, tag: tuple, tokens: Said, written: int) -> None:
        self.id, self.tag, self.tokens, self.written = seq_id, tag, tokens, written


class PrefixMachine(RuleBasedStateMachine):
    """Sequences begin, are written in chunks, go on, fork and go, in any order, on a pool that is too small for them.

    `published` maps each (tag, beginning of whole blocks) to its block; `cached` are those without a holder in the
    order in which they must be given up; `memory` holds in each slot all that led to it, so a wrong share is a wrong
    byte.
    """

    talks: Bundle = Bundle("talks")
    remaps = True  # whether tables follow what `publish` says
    exact = True  # whether all that is published can be found

    def make(self, pool: BlockPool, block_size: int):
        raise NotImplementedError

    @initialize(num_blocks=st.integers(2, 14), block_size=st.integers(1, 3))
    def begin_with(self, num_blocks: int, block_size: int) -> None:
        self.size = block_size
        self.manager = BlockManager(BlockPool(num_blocks), block_size)
        self.pool = self.manager.pool
        self.index = self.make(self.pool, block_size)
        self.memory: list[object] = [None] * (num_blocks * block_size)
        self.published: dict[tuple[tuple, Said], int] = {}
        self.cached: list[int] = []
        self.running: dict[int, Talk] = {}
        self.ids = 0

    # what the model knows by itself

    def holders(self) -> Counter:
        return Counter(block for seq_id in self.running for block in self.manager.table(seq_id))

    def longest(self, tokens: Said, tag: tuple) -> list[int]:
        """The oracle of `match`: try every whole block, shortest first."""
        found: list[int] = []
        for stop in range(self.size, len(tokens), self.size):
            block = self.published.get((tag, tokens[:stop]))
            if block is None:
                break
            found.append(block)
        return found

    def taken(self, count: int, free_before: int) -> None:
        """`count` blocks were taken when so many were free: blank ones first, then the least recently used."""
        if not self.exact:
            self.believe()
            return
        while count > free_before - len(self.cached):  # as many blank ones as there were do not suffice
            self.forget(self.cached[0])
            count, free_before = count - 1, free_before - 1

    def forget(self, block: int) -> None:
        self.cached.remove(block)
        gone = next(entry for entry, filed in self.published.items() if filed == block)
        del self.published[gone]

    def believe(self) -> None:
        """Where not all can be found, what is filed is what the pool says, and only safety is tested."""
        filed = {block for block in range(self.pool.num_blocks) if self.pool.key_of(block) is not None}
        self.published = {entry: block for entry, block in self.published.items() if block in filed}
        self.cached = [block for block in self.cached if block in filed]

    def let_go(self, blocks: list[int]) -> None:
        """`blocks` lost a holder each, the last first."""
        still, filed = self.holders(), set(self.published.values())
        self.cached += [block for block in reversed(blocks) if block in filed and not still[block]]

    # what happens

    @rule(target=talks, tokens=texts, tag=tags)
    def begin(self, tokens: Said, tag: tuple):
        expected, free = self.longest(tokens, tag), self.pool.num_free
        match = self.index.match(list(tokens), tag)
        assert match.num_tokens == len(match.blocks) * self.size < len(tokens)
        assert match.blocks == expected if self.exact else match.blocks == expected[: len(match.blocks)]
        back = [block for block in match.blocks if block in self.cached]
        needed = blocks_needed(len(tokens), self.size) - len(match.blocks)
        if needed + len(back) > free:
            before = snapshot(self.manager)
            with pytest.raises(OutOfBlocks):
                self.manager.admit(self.ids, len(tokens), match.blocks)
            assert snapshot(self.manager) == before
            return multiple()
        self.manager.admit(self.ids, len(tokens), match.blocks)
        self.cached = [block for block in self.cached if block not in back]
        self.taken(needed, free - len(back))
        talk = self.running[self.ids] = Talk(self.ids, tag, tokens, match.num_tokens)
        self.ids += 1
        return talk

    @rule(talk=talks, count=st.integers(1, 14))
    def forward(self, talk: Talk, count: int) -> None:
        """The next tokens are computed; only then are their blocks published."""
        if talk.id not in self.running:
            return
        stop = min(len(talk.tokens), talk.written + count)
        for position, slot in enumerate(self.manager.slots(talk.id, talk.written, stop).tolist(), talk.written):
            self.memory[slot] = talk.tag, talk.tokens[: position + 1]
        talk.written = stop
        table = self.manager.table(talk.id)[: stop // self.size]
        others = self.index.publish(list(talk.tokens), table, talk.tag)
        for position, block in enumerate(table):
            there = self.published.setdefault((talk.tag, talk.tokens[: (position + 1) * self.size]), block)
            if self.exact:
                assert others.get(position, block) == there
        if not self.exact:
            self.believe()
        if self.remaps and others:
            self.manager.remap(talk.id, others)
            self.cached = [block for block in self.cached if block not in others.values()]

    @rule(talk=talks, tokens=st.lists(st.sampled_from([0, 1]), min_size=1, max_size=4))
    def say(self, talk: Talk, tokens: list[int]) -> None:
        if talk.id not in self.running or talk.written < len(talk.tokens):
            return
        free, held = self.pool.num_free, len(self.manager.table(talk.id))
        try:
            write = self.manager.append_cow(talk.id, len(tokens))
        except OutOfBlocks as error:
            assert error.needed > free
            return
        for source, target in write.copies:
            for offset in range(self.size):
                self.memory[target * self.size + offset] = self.memory[source * self.size + offset]
        talk.tokens += tuple(tokens)
        self.taken(len(self.manager.table(talk.id)) - held + len(write.copies), free)

    @rule(target=talks, talk=talks)
    def fork(self, talk: Talk):
        if talk.id not in self.running or talk.written < len(talk.tokens) or len(self.running) > 4:
            return multiple()
        self.manager.fork(talk.id, [self.ids])
        child = self.running[self.ids] = Talk(self.ids, talk.tag, talk.tokens, talk.written)
        self.ids += 1
        return child

    @rule(talk=consumes(talks))
    def free(self, talk: Talk) -> None:
        """The end, or an abort before all is written."""
        if self.running.pop(talk.id, None):
            table = self.manager.table(talk.id)
            self.manager.free(talk.id)
            self.let_go(table)

    @rule(count=st.integers(0, 5))
    def evict(self, count: int) -> None:
        expected = min(count, len(self.cached))
        evicted = self.index.evict(count)
        if not self.exact:
            assert evicted >= expected
            self.believe()
            return
        assert evicted == expected
        for block in self.cached[:expected]:
            self.forget(block)

    @rule(tokens=texts, tag=tags)
    def look(self, tokens: Said, tag: tuple) -> None:
        match, before = self.index.match(tokens, tag), snapshot(self.pool)
        assert self.exact is False or match.blocks == self.longest(tokens, tag)
        assert snapshot(self.pool) == before
        for position, block in enumerate(match.blocks):
            for offset in range(self.size):
                at = position * self.size + offset
                assert self.memory[block * self.size + offset] == (tag, tokens[: at + 1])

    # what always holds

    @invariant()
    def everything_is_in_order(self) -> None:
        self.index.check()
        self.manager.check()
        assert self.pool.num_cached == len(self.cached)
        assert self.index.evictable == len(self.cached)
        assert {b for b in range(self.pool.num_blocks) if self.pool.key_of(b) is not None} == set(
            self.published.values()
        )

    @invariant()
    def each_sequence_reads_what_it_wrote(self) -> None:
        for seq_id, talk in self.running.items():
            slots = self.manager.slots(seq_id, 0, talk.written).tolist()
            assert [self.memory[slot] for slot in slots] == [
                (talk.tag, talk.tokens[: n + 1]) for n in range(talk.written)
            ]
