"""Memories that a scheduler can hand out: blocks with tables (the real one), and reservations without (`reserved`)."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from itertools import chain
from typing import Any

from kvlab.errors import OutOfBlocks
from kvlab.memory import BlockManager, blocks_needed
from kvlab.memory.swap import Pairs, Swapper

from .policies import Job


class PagedStore:
    """Blocks of `manager`, and of a host with `num_host_blocks` blocks, if any. See `kvlab.serve.plan.Store`.

    reuse: knows which tokens of a job are in blocks already (see `kvlab.serve.reuse.Reuse`); by default nothing is
    found.
    """

    def __init__(self, manager: BlockManager, num_host_blocks: int = 0, reuse: Any = None) -> None:
        self.reuse = reuse
        self.manager, self.block_size = manager, manager.block_size
        self.num_blocks = manager.pool.num_blocks
        self.swapper = Swapper(manager, num_host_blocks) if num_host_blocks else None
        self._appended: dict[Hashable, tuple[int, Pairs]] = {}
        # a learner's manager, or one whose `append` is theirs, is asked for one token after the other
        self._at_once = getattr(type(manager), "append", None) is BlockManager.append

    @property
    def num_free(self) -> int:
        """Blocks that nobody holds."""
        return self.manager.pool.num_free

    def admit(self, job: Job, spare: int) -> int:
        """Blocks for all of the job's tokens, while `spare` stay free. Returns how many are there already.

        What is found and lies free must be taken like any other block (F2). What a tier has is loaded before: until it
        is there, `StillLoading`.
        """
        found = self.reuse.match(job).blocks if self.reuse is not None else []
        loads = self.reuse.loaded(job, len(found)) if self.reuse is not None else []
        held = sum(self.manager.pool.ref_count(block) > 0 for block in found)
        needed = blocks_needed(job.length, self.block_size) - held + spare
        if needed > self.num_free:
            raise OutOfBlocks(needed, self.num_free)
        if found:
            self.manager.admit(job.id, job.length, found)
        else:
            self.manager.admit(job.id, job.length)
        if self.reuse is not None:
            self.reuse.entered(job, len(found), loads)
        return (len(found) + len(loads)) * self.block_size

    def found(self, job: Job) -> int:
        """How many tokens of a job that waits are there already."""
        return self.reuse.found(job) if self.reuse is not None else 0

    def append_each(self, ids: Collection[Hashable]) -> tuple[list[int], Pairs]:
        """A slot for one token more for each, all or none, and the copies to make before they are written."""
        if self._at_once:
            return self.manager.append_each(ids)
        for job_id in ids:  # those who have got theirs keep it, until all have
            if job_id not in self._appended:
                self._appended[job_id] = self._append(job_id)
        slots = [self._appended[job_id][0] for job_id in ids]
        copies = [pair for job_id in ids for pair in self._appended[job_id][1]]
        self._appended.clear()
        return slots, copies

    def _append(self, job_id: Hashable) -> tuple[int, Pairs]:
        table = self.manager.table(job_id)
        if self.manager.num_tokens(job_id) % self.block_size and self.manager.pool.ref_count(table[-1]) > 1:
            write = self.manager.append_cow(job_id)
            return int(write.slots[0]), write.copies
        return int(self.manager.append(job_id)), []

    def fork(self, parent: Hashable, children: Sequence[Hashable]) -> None:
        """Let `children` share all blocks of `parent`."""
        self.manager.fork(parent, [child for child in children if child not in self.manager])

    def num_held(self, ids: Collection[Hashable]) -> int:
        """Blocks that these jobs hold, each counted once."""
        return len(set(chain.from_iterable(map(self.manager.table, ids))))

    def num_tokens(self, job_id: Hashable) -> int:
        """Tokens that have a slot."""
        return self.manager.num_tokens(job_id)

    def free(self, job_id: Hashable) -> None:
        """Give back all blocks of a job."""
        self.manager.free(job_id)
        if self.reuse is not None:
            self.reuse.left(job_id)
        self._appended.pop(job_id, None)

    def swap_out(self, ids: Collection[Hashable]) -> Pairs:
        """Move jobs to the host; without one, or without room there, `OutOfBlocks`."""
        if self.swapper is None or not self._appended.keys().isdisjoint(ids):  # with a slot that is not written yet
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
