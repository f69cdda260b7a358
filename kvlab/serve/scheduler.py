"""The scheduler: who runs in the next step, who is admitted, and who must leave when no block is free.

It decides with integers alone and touches no tensor, so that the engine and the simulator share it. After Kwon et al.
2023 (arXiv 2309.06180), section 4.5, with chunked prefill as in Agrawal et al. 2024 (Sarathi-Serve, arXiv 2403.02310).
"""

from __future__ import annotations

from collections.abc import Hashable
from itertools import islice
from math import ceil
from typing import Any

from kvlab.errors import OutOfBlocks, UsageError

from .plan import Chunk, Plan, StillLoading, Store
from .policies import USUAL, Policies
from .preemption import Preemption, Stuck

__all__ = ["Scheduler", "Stuck"]


class Scheduler(Preemption):
    """Plans steps for jobs (see `kvlab.serve.policies.Job`) on the memory `store`.

    - A step has at most `token_budget` tokens. Jobs that decode come first, a token each; then prompts that are under
      way, in chunks; then new jobs.
    - At most `max_running` jobs run at once, and no more are admitted than the budget has tokens, so that all who
      decode do so in every step. Only a job that has more branches goes beyond that: it runs alone, and its branches
      take turns.
    - Only the first in order (or whom `policies.pick` says) may be admitted, and only if all its tokens fit at once and
      `watermark` (a share of the blocks) stays free for those who run; one alone is always admitted if it fits.
    - Who needs a block when none is free makes the policies' victim leave, never the first in order (I11), until there
      is one. A victim waits where its order puts it, and nobody is admitted in the step in which somebody had to leave.

    `schedule` gives a plan, `commit` says that it was carried out. Without that `schedule` gives the same plan again,
    less those who have ended since.
    """

    def __init__(
        self,
        store: Store,
        *,
        max_running: int = 256,
        token_budget: int = 2048,
        watermark: float = 0.01,
        policies: Policies = USUAL,
    ) -> None:
        if max_running < 1 or token_budget < 1:
            raise UsageError(f"at least 1 request and 1 token a step, not {max_running} and {token_budget}")
        if not 0 <= watermark < 1:
            raise UsageError(f"a watermark is a share of the blocks from 0 to below 1, not {watermark}")
        super().__init__(store, policies)
        self.max_running, self.token_budget, self.watermark = max_running, token_budget, watermark
        self._room = getattr(store, "room", None)  # of stores that make room for a prompt chunk by chunk

    def schedule(self) -> Plan:
        """The next step: those who decode, then prompts under way, then who can be admitted. Empty if nobody is there.

        A job that is alone and cannot go on raises `Stuck`, and everything stays as it was.
        """
        if self._at_work:
            self._recover()
        plan = Plan()
        if self._plan is not None:  # the last step was not carried out
            plan = self._unfinished()
            if self._plan is not None:
                return plan
        self._at_work = True
        self._decode(plan)
        left = self._continue(plan, self.token_budget - len(plan.decoding))
        if not plan.preempted:
            self._admit(plan, left)
        self._plan, self._at_work = plan, False
        return plan

    def _decode(self, plan: Plan) -> None:
        """A token for everybody who decodes, whoever has to leave for it."""
        while self.decoding:
            turn = self._turn()
            try:
                plan.slots, plan.copies = self.store.append_each(turn.keys())
                plan.decoding = list(turn.values())
                return
            except OutOfBlocks as error:
                self._preempt(plan, error)

    def _turn(self) -> dict[Hashable, Any]:
        """Who decodes now: all, but of samples that are more than the budget has tokens only the first."""
        if len(self.decoding) <= self.token_budget:
            return self.decoding
        if any(job.group is not None and job.group.together for job in self.decoding.values()):
            return self.decoding  # the budget has been made smaller than a search
        return dict(islice(self.decoding.items(), self.token_budget))

    def _continue(self, plan: Plan, left: int) -> int:
        """Chunks of prompts that are under way, in order, out of `left` tokens; returns what is left then."""
        if self.prefilling:
            for job in sorted(self.prefilling.values(), key=self.order):
                left -= self._chunk(plan, job, left)
        return left

    def _admit(self, plan: Plan, left: int) -> None:
        """Admit from the head of the queue, and nobody past it, as long as seats, tokens and blocks are left."""
        while self.waiting and left > 0:
            place = self.policies.pick.pick(self.waiting, self.store.found)
            job = self.waiting[place]
            back = self._crowd(job, self.waiting) if job.state == "swapped" else None
            seats = job.seats if back is None else len(back)
            full = seats > min(self.max_running, self.token_budget) - self._seats or back and seats > left
            if full and self.num_running:
                return
            queue = list(self.waiting)
            try:
                left -= self._start(plan, job, left) if back is None else self._bring_back(plan, back)
            except StillLoading as loading:
                if self.num_running:
                    return  # they go on meanwhile
                loading.wait()
                continue
            except OutOfBlocks as error:
                if not self.num_running:
                    self._refuse(job, error)
                return
            self.policies.pick.admitted(queue, place)

    def _start(self, plan: Plan, job: Any, left: int) -> int:
        """Admit a job that holds nothing; returns how many tokens it runs in this step."""
        job.computed = self.store.admit(job, self._spare)
        self._enter(job, self.prefilling)
        plan.admitted.append(job)
        return self._chunk(plan, job, left)

    def _bring_back(self, plan: Plan, crowd: list[Any]) -> int:
        """Swap jobs in; they decode at once."""
        ids = [job.id for job in crowd]
        plan.swap_in += self.store.swap_in(ids, self._spare)
        for job in crowd:
            self._enter(job, self.decoding)
        slots, copies = self.store.append_each(ids)
        plan.decoding += crowd
        plan.slots += slots
        plan.copies += copies
        plan.admitted += crowd
        return len(crowd)

    @property
    def _seats(self) -> int:
        """Jobs that run, counting for a stem all that it will be forked into."""
        return len(self.decoding) + sum(job.seats for job in self.prefilling.values())

    @property
    def _spare(self) -> int:
        """Blocks that must stay free when somebody is admitted."""
        return ceil(self.watermark * self.store.num_blocks) if self.num_running else 0

    def _chunk(self, plan: Plan, job: Any, left: int) -> int:
        """As many of the job's tokens as fit into `left`, and into the store; returns how many."""
        length = job.length
        stop = min(job.computed + max(left, 0), length)
        if self._room is not None:
            stop = self._room(job, stop)
        if stop > job.computed:
            plan.chunks.append(Chunk(job, job.computed, stop, stop == length))
        return stop - job.computed
