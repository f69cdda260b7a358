"""Memories of systems that admit a request only if it can run to its end, so that nobody ever has to leave."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from typing import Any

from kvlab.errors import OutOfBlocks
from kvlab.memory import RadixCache, blocks_needed
from kvlab.memory.partial import match_partly
from kvlab.memory.retention import HIGHEST, RetentionPool
from kvlab.memory.swap import Pairs

from .system_stores import SharingStore


class ReservingStore(SharingStore):
    """Room for all that a request may come to is set aside when it is admitted. most: new tokens that each asks for."""

    def __init__(self, *args: Any, most: int, **options: Any) -> None:
        super().__init__(*args, **options)
        self.most = most

    def most_needed(self, prompt: int, answer: int) -> int:
        """The prompt and all new tokens that it asks for, but the last, which is not stored."""
        return prompt + max(self.most, answer, 1) - 1


class UpfrontStore(ReservingStore):
    """TGI: a request gets room for its prompt and `most` new tokens at once, and keeps it."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._tokens: dict[Hashable, int] = {}

    def _room(self, job: Any) -> int:
        return self.most_needed(job.prompt, job.answer)

    def _entered(self, job: Any, found: int) -> int:
        self._tokens[job.id] = job.length
        return super()._entered(job, found)

    def append_each(self, ids: Collection[Hashable]) -> tuple[list[int], Pairs]:
        """Everybody has room already."""
        for job_id in ids:
            self._tokens[job_id] += 1
        return [], []

    def num_tokens(self, job_id: Hashable) -> int:
        """Tokens that it has, of those that there is room for."""
        return self._tokens[job_id]

    def free(self, job_id: Hashable) -> None:
        """Give back all blocks of a job."""
        super().free(job_id)
        del self._tokens[job_id]


class PromiseStore(ReservingStore):
    """TensorRT-LLM (GUARANTEED_NO_EVICT): blocks come one by one, and those still to come are promised to whoever runs.

    retain: how many of a job's first tokens get the highest priority for their blocks. partly: whether a block that
    fits in part is copied.
    """

    index: RadixCache | None

    def __init__(self, *args: Any, retain: Callable[[Any], int], partly: bool = True, **options: Any) -> None:
        super().__init__(*args, **options)
        self.retain, self.partly = retain, partly
        self._promised: dict[Hashable, int] = {}
        self._extra = 0

    def admit(self, job: Any, spare: int) -> int:
        """As the others; the block to be copied from is held meanwhile, if there is room enough to do so."""
        source, extra = self._source(job)
        pool = self.manager.pool
        if source is not None:
            pool.share([source])
        self._extra = extra
        try:
            return super().admit(job, spare)
        except OutOfBlocks:
            if source is None:
                raise
        finally:
            if source is not None:
                pool.release([source])
        self._extra = 0
        return super().admit(job, spare)

    def _source(self, job: Any) -> tuple[int | None, int]:
        if self.index is None or not self.partly:
            return None, 0
        match = match_partly(self.index, self.texts.said(job.id, job.length))
        return match.source, match.extra

    def _claim(self, job: Any) -> int:
        still = sum(blocks - len(self.manager.table(job_id)) for job_id, blocks in self._promised.items())
        return blocks_needed(self.most_needed(job.prompt, job.answer), self.block_size) + still

    def _more(self, job: Any, whole: int) -> int:
        self.copied += self._extra
        return self._extra

    def _entered(self, job: Any, found: int) -> int:
        self._promised[job.id] = blocks_needed(self.most_needed(job.prompt, job.answer), self.block_size)
        return super()._entered(job, found)

    def publish(self, job: Any, written: int) -> None:
        """As the others, and the blocks of the first tokens get their priority."""
        super().publish(job, written)
        pool, kept = self.manager.pool, min(self.retain(job), written) // self.block_size
        if isinstance(pool, RetentionPool) and kept:
            pool.retain(self.manager.table(job.id)[:kept], HIGHEST)

    def free(self, job_id: Hashable) -> None:
        """Give back all blocks of a job, and the promise."""
        super().free(job_id)
        del self._promised[job_id]
