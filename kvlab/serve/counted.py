"""A paged memory that counts blocks and names none, so that many decode steps can be taken at once.

It gives and refuses exactly what `PagedStore` does. Those who decode together form a *cohort*: each gains a token a
step, so what differs between them is only at which step of `block_size` they need their next block, and how many do at
each is all that must be kept.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Hashable, Sequence
from itertools import accumulate
from typing import Any

from kvlab.errors import OutOfBlocks, UsageError
from kvlab.memory import blocks_needed
from kvlab.memory.swap import Pairs

from .policies import Job


class CountedStore:
    """`num_blocks` blocks of `block_size` slots, and `num_host_blocks` on the host. See `kvlab.serve.plan.Store`."""

    def __init__(self, num_blocks: int, block_size: int, num_host_blocks: int = 0) -> None:
        self.num_blocks, self.block_size = num_blocks, block_size
        self.num_free, self.host_free = num_blocks, num_host_blocks
        self._tokens: dict[Hashable, int] = {}
        self._cohort: dict[Hashable, int] = {}  # tokens, less the clock
        self._away: dict[Hashable, int] = {}
        self._clock = 0
        self._due = [0] * block_size  # members that need a block when the clock is this, modulo block_size

    def admit(self, job: Job, spare: int) -> int:
        """Blocks for all of the job's tokens, while `spare` stay free; none of its tokens is there already."""
        length = job.length
        self._take(-(-length // self.block_size), spare)
        self._tokens[job.id] = length
        return 0

    def found(self, job: Any) -> int:
        """Nothing is shared, so nothing is found."""
        return 0

    def append_each(self, ids: Collection[Hashable]) -> tuple[list[int], Pairs]:
        """Room for one token more for each, all or none; no slot is named. ids: all of the cohort, or nobody of it."""
        if len(ids) != len(self._cohort) or next(iter(ids)) not in self._cohort:  # else they are the same
            new = set(ids) - self._cohort.keys()
            if len(new) + len(self._cohort) > len(ids):
                return self._append_apart(ids)
            for job_id in new:
                self._join(job_id)
        needed = self._due[self._clock % self.block_size]
        if needed > self.num_free:
            raise OutOfBlocks(needed, self.num_free)
        self.num_free -= needed
        self._clock += 1
        return [], []

    def needs(self, limit: int) -> list[int]:
        """Blocks that the cohort needs in each of its next steps, `limit` at most, while there are enough."""
        at = self._clock % self.block_size
        found = (self._due[at:] + self._due[:at]) * (limit // self.block_size + 1)
        del found[limit:]
        if sum(found) > self.num_free:
            del found[bisect_right(list(accumulate(found)), self.num_free) :]
        return found

    def repeat(self, needs: list[int]) -> None:
        """Take the steps that `needs` gave."""
        self.num_free -= sum(needs)
        self._clock += len(needs)

    def fork(self, parent: Hashable, children: Sequence[Hashable]) -> None:
        """Blocks without names cannot be shared: `UsageError`."""
        raise UsageError(f"request {parent!r} cannot be forked: its blocks are only counted")

    def num_held(self, ids: Collection[Hashable]) -> int:
        """Blocks that these jobs hold."""
        return sum(blocks_needed(self.num_tokens(job_id), self.block_size) for job_id in ids)

    def num_tokens(self, job_id: Hashable) -> int:
        """Tokens that have room."""
        base = self._cohort.get(job_id)
        return self._tokens[job_id] if base is None else base + self._clock

    def free(self, job_id: Hashable) -> None:
        """Give back all blocks of a job."""
        self.num_free += -(-self._remove(job_id) // self.block_size)

    def swap_out(self, ids: Collection[Hashable]) -> Pairs:
        """Move jobs to the host; without room there, `OutOfBlocks`. One nameless copy is returned for each block."""
        blocks = self.num_held(ids)
        if blocks > self.host_free:
            raise OutOfBlocks(blocks, self.host_free)
        for job_id in ids:
            self._away[job_id] = self._remove(job_id)
        self.host_free -= blocks
        self.num_free += blocks
        return [(0, 0)] * blocks

    def swap_in(self, ids: Collection[Hashable], spare: int) -> Pairs:
        """Move jobs back, while blocks for the next token of each and `spare` others stay free."""
        tokens = [self._away[job_id] for job_id in ids]
        blocks = sum(blocks_needed(count, self.block_size) for count in tokens)
        self._take(blocks, spare + sum(count % self.block_size == 0 for count in tokens))
        self.host_free += blocks
        for job_id in ids:
            self._tokens[job_id] = self._away.pop(job_id)
        return [(0, 0)] * blocks

    def forget(self, job_id: Hashable) -> None:
        """Give back a job's blocks on the host."""
        self.host_free += blocks_needed(self._away.pop(job_id), self.block_size)

    def discard(self, job_id: Hashable) -> None:
        """Give back a job's blocks wherever they are, if anywhere."""
        if job_id in self._tokens or job_id in self._cohort:
            self.free(job_id)
        if job_id in self._away:
            self.forget(job_id)

    def _take(self, blocks: int, spare: int = 0) -> None:
        if blocks + spare > self.num_free:
            raise OutOfBlocks(blocks + spare, self.num_free)
        self.num_free -= blocks

    def _join(self, job_id: Hashable) -> None:
        base = self._tokens.pop(job_id) - self._clock
        self._cohort[job_id] = base
        self._due[-base % self.block_size] += 1

    def _remove(self, job_id: Hashable) -> int:
        """Forget a job that is here, and return its tokens."""
        base = self._cohort.pop(job_id, None)
        if base is None:
            return self._tokens.pop(job_id)
        self._due[-base % self.block_size] -= 1
        return base + self._clock

    def _append_apart(self, ids: Collection[Hashable]) -> tuple[list[int], Pairs]:
        """`append_each` for some while the rest of the cohort stays behind."""
        self._take(sum(not self.num_tokens(job_id) % self.block_size for job_id in ids))
        for job_id in ids:
            self._tokens[job_id] = self._remove(job_id) + 1
        return [], []
