"""Continuous batching as Hugging Face transformers does it (`generate_batch`), in integers, for the simulator.

It decides what the schedulers "fifo" and "prefill_first" of transformers 5.24 decide for a model of full attention, run
without CUDA graphs and without room on the host. Read in generation/continuous_batching: scheduler.py, cache.py,
cache_allocators and offloading_manager.py. A test runs both side by side, step by step.

What differs from the course's scheduler: blocks are taken chunk by chunk and not for a whole prompt; who finds no block
is passed over; what is cached is dropped all at once; a victim begins again at the end of the queue, and nobody new is
admitted until somebody has ended.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

from kvlab.errors import UsageError
from kvlab.memory import BlockManager, BlockPool, HitRate, PrefixCache, blocks_needed

from .scheduler import Stuck
from .system_texts import Texts

MARGINS = {"fifo": 0.15, "prefill_first": 0.0}
"""The schedulers, and the share of free blocks below which only those who decode, and one other, are scheduled."""
PENDING, PREFILLING, DECODING, FINISHED = range(4)


@dataclass(eq=False)
class Sequence:
    """One request. past: tokens that are stored. left: tokens of its prompt that are not scheduled yet.

    prompt: of this attempt; one that has begun again counts what it had generated as prompt. generated: of the answer.
    """

    id: int
    prompt: int
    answer: int
    arrived: int = 0
    past: int = 0
    left: int = 0
    generated: int = 0
    state: int = PENDING
    begun: bool = field(default=False)

    def __post_init__(self) -> None:
        self.left = self.prompt


class Work(NamedTuple):
    """`tokens` of a sequence after `start` stored ones; samples: whether the model gives another one after them."""

    sequence: Sequence
    start: int
    tokens: int
    samples: bool


class HuggingFaceBatching:
    """The scheduler and the cache of `generate_batch`. Usage: `submit`, then `next_batch` and `ran` by turns.

    share: whether prefixes are shared. Another scheduler than "fifo" and "prefill_first": `UsageError`.
    """

    def __init__(
        self,
        num_blocks: int,
        page_size: int,
        texts: Texts,
        *,
        kind: str = "fifo",
        max_tokens: int = 8192,
        max_requests: int = 1024,
        margin: float | None = None,
        share: bool = True,
    ) -> None:
        if kind not in MARGINS:
            raise UsageError(f"there is no scheduler {kind!r}: there are {', '.join(MARGINS)}")
        self.pool = BlockPool(num_blocks)
        self.manager = BlockManager(self.pool, page_size)
        self.index = PrefixCache(self.pool, page_size) if share else None
        self.texts, self.kind, self.hits = texts, kind, HitRate()
        self.max_tokens, self.max_requests = max_tokens, max_requests
        self.margin = MARGINS[kind] if margin is None else margin
        self.active: dict[int, Sequence] = {}
        self.waiting: deque[Sequence] = deque()
        self.blocked = False
        self.starved: list[tuple[Sequence, int]] = []
        self.preemptions = self.recomputed = 0

    @property
    def num_free(self) -> int:
        """Blocks that can be taken as they are: what is cached must be dropped first."""
        return self.pool.num_free - self.pool.num_cached

    def submit(self, sequence: Sequence) -> None:
        """Queue a request."""
        self.waiting.append(sequence)

    def next_batch(self) -> list[Work]:
        """Who runs what in the next step; who must leave for it, or for the one after, leaves. Nobody there: empty.

        If nobody can run and nobody can leave: `Stuck`.
        """
        batch = self._schedule()
        while batch is None:
            if not self._make_room():
                alone = next(iter([*self.active.values(), *self.waiting]))
                raise Stuck(alone.id, 1, self.num_free, self.pool.num_blocks)
            batch = self._schedule()
        if batch and self.starved:
            self._make_room()
        for work in batch:
            work.sequence.past += work.tokens
        return batch

    def ran(self, batch: list[Work]) -> list[Sequence]:
        """The batch has run: tokens are sampled, full blocks can be found, and those who have ended are returned."""
        ended = []
        for sequence, _, _, samples in batch:
            sequence.generated += samples
            if samples and sequence.generated == sequence.answer:
                sequence.state = FINISHED  # its last block, if this step has filled it, is not published any more
                self.manager.free(sequence.id)
                del self.active[sequence.id]
                self.blocked = False
                ended.append(sequence)
            else:
                self._publish(sequence)
        return ended

    def check(self) -> None:
        """Walk the memory."""
        self.manager.check()

    def _schedule(self) -> list[Work] | None:
        """One pass over all candidates; None if somebody lacked blocks and nobody could be scheduled."""
        decoding = [one for one in self.active.values() if one.state == DECODING]
        filling = [one for one in self.active.values() if one.state == PREFILLING]
        first, second = (decoding, filling) if self.kind == "fifo" else (filling, decoding)
        candidates = [*first, *second, *([] if self.blocked else self.waiting)]
        batch, failed = list[Work](), False
        self.starved = []
        tokens, reads = self.max_tokens, self.pool.num_blocks * self.manager.block_size
        roomy = self._roomy()
        for one in candidates:
            if not roomy and batch and one.state != DECODING:
                break
            wanted = self._wanted(one)
            count = min(wanted, tokens)
            if reads < one.past:
                continue
            if not self._grow(one, count):
                failed = True
                if one.id in self.active:
                    self.starved.append((one, count))
                continue
            self._enter(one, wanted, count)
            batch.append(Work(one, one.past, count, wanted == count))
            tokens, reads = tokens - count, reads - one.past
            if not tokens or reads <= 0 or len(batch) >= self.max_requests:
                break
        return None if failed and not batch else batch

    def _roomy(self) -> bool:
        """Whether enough blocks are free, after all that is cached has been dropped if need be."""
        if self.num_free / self.pool.num_blocks < self.margin:
            self.pool.evict(self.pool.num_cached)
        return self.num_free / self.pool.num_blocks >= self.margin

    def _wanted(self, one: Sequence) -> int:
        """Tokens that a candidate has to run; of one that waits, after what is found, which makes it active at once."""
        if one.state == PENDING and self.index is not None:
            match = self.index.match(self.texts.said(one.id, one.prompt))
            if match.blocks:
                self.manager.admit(one.id, match.num_tokens, match.blocks)
                self._activate(one, match.num_tokens)
                one.state, one.past, one.left = PREFILLING, match.num_tokens, one.left - match.num_tokens
        return 1 if one.state == DECODING else one.left

    def _grow(self, one: Sequence, count: int) -> bool:
        """Take the blocks for `count` tokens more, if there are enough."""
        if self._lacks(one, count) > self.num_free:
            return False
        if one.id in self.manager:
            self.manager.extend(one.id, count)
        else:
            self.manager.admit(one.id, count)
        return True

    def _lacks(self, one: Sequence, count: int) -> int:
        held = len(self.manager.table(one.id)) if one.id in self.manager else 0
        return blocks_needed(one.past + count, self.manager.block_size) - held

    def _enter(self, one: Sequence, wanted: int, count: int) -> None:
        if one.state == PENDING:
            self._activate(one, 0)
        if one.state != DECODING:
            one.left = wanted - count
            one.state = PREFILLING if one.left else DECODING

    def _activate(self, one: Sequence, found: int) -> None:
        self.waiting.remove(one)
        self.active[one.id] = one
        self.hits.record(one.prompt, found, again=one.begun)
        one.begun = True

    def _publish(self, one: Sequence) -> None:
        if self.index is not None:
            full = one.past // self.manager.block_size
            said = self.texts.said(one.id, one.past)
            self.manager.remap(one.id, self.index.publish(said, self.manager.table(one.id)[:full]))

    def _make_room(self) -> bool:
        """Drop all that is cached, and let the newest of the starved begin again until the others can go on."""
        dropped = self.pool.evict(self.pool.num_cached) > 0
        starved, gone = self.starved, list[Sequence]()
        lacks = [self._lacks(one, count) for one, count in starved]
        active = len(self.active)
        while starved and active - len(gone) > 1 and not self._all_fit(lacks):
            one, _ = starved.pop()
            lacks.pop()
            gone.append(one)
            for block in self.manager.table(one.id):
                if self.pool.ref_count(block) == 1:
                    self.pool.withdraw(block)
            self.manager.free(one.id)
        for one in reversed(gone):
            self._begin_again(one)
        self.blocked |= bool(gone)
        return dropped or bool(gone)

    def _all_fit(self, lacks: list[int]) -> bool:
        return sum(lacks) <= self.num_free

    def _begin_again(self, one: Sequence) -> None:
        self.preemptions += 1
        self.recomputed += one.past
        del self.active[one.id]
        again = Sequence(one.id, one.prompt, one.answer, one.arrived, begun=True)
        again.prompt = again.left = self._known(one)
        again.generated = one.generated
        self.submit(again)

    @staticmethod
    def _known(one: Sequence) -> int:
        """Tokens that are known of it: stored ones, the one sampled last, and what is left of the prompt."""
        return one.past + one.left if one.left else one.past + 1
