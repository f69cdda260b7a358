"""Preemption: who gives back its blocks when none is free for the next token, and whether they are dropped or swapped.

After Kwon et al. 2023 (arXiv 2309.06180), section 4.5.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NoReturn

from kvlab.errors import InvariantBroken, KVLabError, OutOfBlocks

from .plan import Plan, Store
from .policies import Policies
from .roster import Roster


class Stuck(KVLabError):
    """A request that is alone and still has too few blocks: nobody could leave for it, so it would wait for ever."""

    def __init__(self, job_id: Hashable, needed: int, free: int, there: int) -> None:
        super().__init__(f"request {job_id!r} is alone and needs {needed} free blocks; {free} of all {there} are free")
        self.job_id, self.needed, self.free, self.there = job_id, needed, free, there

    def __reduce__(self):
        return type(self), (self.job_id, self.needed, self.free, self.there)


class Preemption(Roster):
    """A roster out of which the victims of `policies` leave: swapped to the host, or to be recomputed.

    preemptions: how often somebody had to leave. swaps: of these, to the host. recomputed_tokens: that others dropped.
    """

    def __init__(self, store: Store, policies: Policies) -> None:
        super().__init__(store, policies.order)
        self.policies = policies
        self.preemptions = self.swaps = self.recomputed_tokens = 0

    def _preempt(self, plan: Plan, error: OutOfBlocks) -> None:
        """The policies' victim leaves, swapped if they say so and the host has room, else to be recomputed."""
        running = self.running
        first = running[0]
        if all(job is first or self._inseparable(job, first) for job in running):
            self._refuse(first, error)
        job = self.policies.victim(running)
        if job is first or self._inseparable(job, first):
            raise InvariantBroken("I11", f"request {job.id!r} is the first in order, and {len(running) - 1} others run")
        crowd = self._crowd(job, running[1:])
        if not self._swap_out(plan, crowd):
            crowd = crowd if self._inseparable(job, job) else [job]
            self._recompute(crowd)
        self.preemptions += len(crowd)
        plan.preempted += crowd

    def _swap_out(self, plan: Plan, crowd: list[Any]) -> bool:
        """Whether these jobs were swapped to the host: they decode, the policies want it and there is room."""
        ids = [job.id for job in crowd]
        if any(job_id not in self.decoding for job_id in ids):
            return False
        if not self.policies.swap(sum(map(self.store.num_tokens, ids)), self.store.num_held(ids)):
            return False
        try:
            plan.swap_out += self.store.swap_out(ids)
        except OutOfBlocks:
            return False
        for job in crowd:
            self._remove(job)
            self.submit(job, "swapped")
        self.swaps += len(crowd)
        return True

    def _recompute(self, crowd: list[Any]) -> None:
        """Drop the blocks of these jobs; their tokens run again later."""
        for job in crowd:
            self.recomputed_tokens += self.store.num_tokens(job.id) if job.id in self.decoding else job.computed
            self._drop(job)
        for job in crowd:
            self._again(job)

    @staticmethod
    def _crowd(job: Any, others: list[Any]) -> list[Any]:
        """The branches of the job's group among `others` that are in the same state: they share blocks."""
        if job.group is None:
            return [job]
        return [other for other in others if other.group is job.group and other.state == job.state]

    def _inseparable(self, job: Any, other: Any) -> bool:
        """Whether both are branches of one group that only goes on as a whole."""
        group = job.group
        return group is not None and group is other.group and group.together and job.id in self.decoding

    def _refuse(self, job: Any, error: OutOfBlocks) -> NoReturn:
        self._at_work = False
        raise Stuck(job.id, error.needed, error.free, self.store.num_blocks) from None
