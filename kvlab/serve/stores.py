"""Memories that a scheduler can hand out: blocks with tables (the real one), and reservations without (`reserved`)."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from itertools import chain
from typing import Any

from kvlab.errors import OutOfBlocks
from kvlab.memory import BlockManager, blocks_needed
from kvlab.memory.swap import Swapper

from .plan import Pairs
from .policies import Job


class PagedStore:
    """Blocks of `manager`, and of a host with `num_host_blocks` blocks, if any. See `kvlab.serve.plan.Store`."""

    def __init__(self, manager: BlockManager, num_host_blocks: int = 0) -> None:
        self.manager, self.block_size = manager, manager.block_size
        self.num_blocks = manager.pool.num_blocks
        self.swapper = Swapper(manager, num_host_blocks) if num_host_blocks else None
        self._appended: dict[Hashable, int] = {}

    @property
    def num_free(self) -> int:
        """Blocks that nobody holds."""
        return self.manager.pool.num_free

    def admit(self, job: Job, spare: int) -> int:
        """Blocks for all of the job's tokens, while `spare` stay free; none of its tokens is there already."""
        needed = blocks_needed(job.length, self.block_size) + spare
        if needed > self.num_free:
            raise OutOfBlocks(needed, self.num_free)
        self.manager.admit(job.id, job.length)
        return 0

    def append_each(self, ids: Collection[Hashable]) -> tuple[list[int], Pairs]:
        """A slot for one token more for each, all or none, and the copies to make before they are written."""
        if hasattr(self.manager, "append_each"):
            return self.manager.append_each(ids)
        for job_id in ids:  # a learner's manager: those who have got theirs keep it, until all have
            if job_id not in self._appended:
                self._appended[job_id] = self.manager.append(job_id)
        slots = [self._appended[job_id] for job_id in ids]
        self._appended.clear()
        return slots, []

    def fork(self, parent: Hashable, children: Sequence[Hashable]) -> None:
        """Let `children` share all blocks of `parent`."""
        self.manager.fork(parent, children)

    def num_held(self, ids: Collection[Hashable]) -> int:
        """Blocks that these jobs hold, each counted once."""
        return len(set(chain.from_iterable(map(self.manager.table, ids))))

    def num_tokens(self, job_id: Hashable) -> int:
        """Tokens that have a slot."""
        return self.manager.num_tokens(job_id)

    def free(self, job_id: Hashable) -> None:
        """Give back all blocks of a job."""
        self.manager.free(job_id)
        self._appended.pop(job_id, None)

    def swap_out(self, ids: Collection[Hashable]) -> Pairs:
        """Move jobs to the host; without one, or without room there, `OutOfBlocks`."""
        if self.swapper is None:
            raise OutOfBlocks(self.num_held(ids), 0)
        return self.swapper.swap_out(ids)

    def swap_in(self, ids: Collection[Hashable], spare: int) -> Pairs:
        """Move jobs back, while blocks for the next token of each and `spare` others stay free."""
        swapper = self._host
        return swapper.swap_in(ids, spare + swapper.next_blocks(ids))

    def forget(self, job_id: Hashable) -> None:
        """Give back a job's blocks on the host."""
        self._host.forget([job_id])

    def discard(self, job_id: Hashable) -> None:
        """Give back a job's blocks wherever they are, if anywhere."""
        if job_id in self.manager:
            self.free(job_id)
        if self.swapper is not None and job_id in self.swapper:
            self.forget(job_id)

    def check(self) -> None:
        """Walk the manager and the host."""
        self.manager.check()
        if self.swapper is not None:
            self.swapper.check()

    @property
    def _host(self) -> Any:
        return self.swapper
