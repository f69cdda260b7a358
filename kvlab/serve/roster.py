"""Who waits, who runs a prompt, who decodes, and the moves between: what a scheduler keeps, not what it decides."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from .plan import Plan, Store


class Roster:
    """Jobs (see `kvlab.serve.policies.Job`) by what they do, kept together with what they hold in `store`."""

    def __init__(self, store: Store, order: Callable[[Any], Any]) -> None:
        self.store, self.order = store, order
        self.waiting: list[Any] = []
        """In order; those who were swapped out wait among the others."""
        self.prefilling: dict[Hashable, Any] = {}
        self.decoding: dict[Hashable, Any] = {}
        self._plan: Plan | None = None
        self._at_work = False

    @property
    def num_running(self) -> int:
        """Jobs that hold blocks."""
        return len(self.decoding) + len(self.prefilling)

    @property
    def running(self) -> list[Any]:
        """Those jobs, the first in order first."""
        return sorted([*self.decoding.values(), *self.prefilling.values()], key=self.order)

    @property
    def has_work(self) -> bool:
        """Whether anybody waits or runs."""
        return bool(self.waiting or self.decoding or self.prefilling)

    def submit(self, job: Any, state: str = "waiting") -> None:
        """Queue a job. That it can ever fit is for the caller to know (I10)."""
        insort(self.waiting, job, key=self.order)
        job.state = state

    def commit(self, plan: Plan) -> None:
        """The plan was carried out: its tokens are in the pools. To say so twice changes nothing."""
        for job, _, stop, last in plan.chunks:
            if job.id in self.prefilling and self.prefilling[job.id] is job:
                job.computed = stop
                if last:
                    self.decoding[job.id] = job
                    del self.prefilling[job.id]
        if self._plan is plan:
            self._plan = None

    def fork(self, parent: Any, children: Sequence[Any]) -> None:
        """Let `children` decode from what `parent` holds, which goes on too until it is ended. Nothing is copied yet.

        To say so twice changes nothing.
        """
        new = [child for child in children if child.state == ""]
        self.store.fork(parent.id, [child.id for child in new])
        for child in new:
            self.decoding[child.id] = child
            child.state = "running"

    def end(self, job: Any) -> None:
        """Let a job go, whatever its state, and give back what it holds. One that has ended stays as it is."""
        if job.state == "running":
            self._drop(job)
        elif job in self.waiting:
            self.store.discard(job.id)
            self.waiting.remove(job)
        job.state = "ended"

    def _drop(self, job: Any) -> None:
        """Give back the blocks of a job that runs. It can be repeated."""
        self.store.discard(job.id)
        self._remove(job)

    def _remove(self, job: Any) -> None:
        if self.decoding.pop(job.id, None) is None:
            self.prefilling.pop(job.id, None)

    def _enter(self, job: Any, where: dict[Hashable, Any]) -> None:
        """From the queue to those who run."""
        where[job.id] = job
        job.state = "running"
        self.waiting.remove(job)

    def _unfinished(self) -> Plan:
        """What is left of a plan that was not carried out, without those who have ended; or an empty plan."""
        plan, self._plan = self._plan or Plan(), None
        still = [
            pair for pair in zip(plan.decoding, plan.slots, strict=True) if self.decoding.get(pair[0].id) is pair[0]
        ]
        plan.decoding, plan.slots = [job for job, _ in still], [slot for _, slot in still]
        plan.chunks = [chunk for chunk in plan.chunks if self.prefilling.get(chunk.job.id) is chunk.job]
        if plan.num_tokens:
            self._plan = plan
            return plan
        return Plan(swap_out=plan.swap_out)  # nobody is left of those whom its other copies were for

    def _recover(self) -> None:
        """Planning was interrupted somewhere: all who ran or were swapped give everything back and begin again."""
        self._plan, self._at_work = None, False
        jobs = {job.id: job for job in (*self.waiting, *self.decoding.values(), *self.prefilling.values())}
        for job in jobs.values():
            self.store.discard(job.id)
            job.computed = 0
        self.prefilling.clear()
        self.decoding.clear()
        self.waiting.clear()
        for job in list(jobs.values()):
            self._again(job)

    def requeue(self, job: Any) -> None:
        """Queue a job that another scheduler had begun, with the tokens it has got; they are all computed again."""
        self._again(job)

    def _again(self, job: Any) -> None:
        """Queue a job that has lost its blocks; of branches that only go on together, the stem that they came from."""
        if job.group is not None and job.group.together and job is not job.group.stem:
            job.state = "ended"
            job = job.group.restart()
            if job in self.waiting:
                return
        job.computed = 0
        self.submit(job)
