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

from kvlab.errors import UsageError
from kvlab.memory import HitRate

from .hf_batching_cache import BatchingCache
from .hf_batching_requests import DECODING, FINISHED, PENDING, PREFILLING, Sequence, Work
from .scheduler import Stuck
from .system_texts import Texts

MARGINS = {"fifo": 0.15, "prefill_first": 0.0}
"""The schedulers, and the share of free blocks below which only those who decode, and one other, are scheduled."""


class HuggingFaceBatching:
    """The scheduler of `generate_batch`, on its cache. Usage: `submit`, then `next_batch` and `ran` by turns.

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
        self.cache = BatchingCache(num_blocks, page_size, texts, share)
        self.pool, self.manager = self.cache.pool, self.cache.manager
        self.kind, self.hits = kind, HitRate()
        self.max_tokens, self.max_requests = max_tokens, max_requests
        self.margin = MARGINS[kind] if margin is None else margin
        self.active: dict[int, Sequence] = {}
        self.waiting: deque[Sequence] = deque()
        self.blocked = False
        self.starved: list[tuple[Sequence, int]] = []
        self.preemptions = self.recomputed = 0

    @property
    def num_free(self) -> int:
        """Blocks that can be taken as they are."""
        return self.cache.num_free

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
                alone = [*self.active.values(), *self.waiting][0]
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
                self.cache.publish(sequence.id, sequence.past)
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
            if not self.cache.grow(one.id, one.past, count):
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
            self.cache.drop()
        return self.num_free / self.pool.num_blocks >= self.margin

    def _wanted(self, one: Sequence) -> int:
        """Tokens that a candidate has to run; of one that waits, after what is found, which makes it active at once."""
        if one.state == PENDING:
            found = self.cache.find(one.id, one.prompt)
            if found:
                self._activate(one, found)
                one.state, one.past, one.left = PREFILLING, found, one.left - found
        return 1 if one.state == DECODING else one.left

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

    def _make_room(self) -> bool:
        """Drop all that is cached, and let the newest of the starved begin again until the others can go on."""
        dropped = self.cache.drop() > 0
        starved, gone = self.starved, list[Sequence]()
        lacks = [self.cache.lacks(one.id, one.past + count) for one, count in starved]
        active = len(self.active)
        while starved and active - len(gone) > 1 and sum(lacks) > self.num_free:
            one, _ = starved.pop()
            lacks.pop()
            gone.append(one)
            self.cache.forget(one.id)
        for one in reversed(gone):
            self._begin_again(one)
        self.blocked |= bool(gone)
        return dropped or bool(gone)

    def _begin_again(self, one: Sequence) -> None:
        self.preemptions += 1
        self.recomputed += one.past
        del self.active[one.id]
        self.submit(one.again())
