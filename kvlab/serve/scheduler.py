"""The scheduler: who runs in the next step, who is admitted, and who must leave when no block is free.

It decides with integers alone and touches no tensor, so that the engine and the simulator share it. After Kwon et al.
2023 (arXiv 2309.06180), section 4.5, with chunked prefill as in Agrawal et al. 2024 (Sarathi-Serve, arXiv 2403.02310).
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Hashable
from math import ceil
from typing import Any, NoReturn

from kvlab.errors import InvariantBroken, KVLabError, OutOfBlocks, UsageError
from kvlab.memory import blocks_needed

from .plan import Chunk, Plan, Store
from .policies import Policies


class Stuck(KVLabError):
    """A request that is alone and still has too few blocks: nobody could leave for it, so it would wait for ever."""

    def __init__(self, job_id: Hashable, needed: int, free: int, there: int) -> None:
        super().__init__(f"request {job_id!r} is alone and needs {needed} free blocks; {free} of all {there} are free")
        self.job_id, self.needed, self.free, self.there = job_id, needed, free, there

    def __reduce__(self):
        return type(self), (self.job_id, self.needed, self.free, self.there)


class Scheduler:
    """Plans steps for jobs (see `Job`) on the memory `store`.

    - A step has at most `token_budget` tokens. Jobs that decode come first, a token each; then prompts that are under
      way, in chunks; then new jobs.
    - At most `max_running` jobs run at once, and no more than the budget has tokens, so that all who decode do so in
      every step.
    - Only the first in order may be admitted, and only if all its tokens fit at once and `watermark` (a share of the
      blocks) stays free for those who run; with nobody running the watermark is not asked for.
    - Who needs a block when none is free makes the policies' victim leave, never the first in order (I11), until there is
      one. A victim waits where its order puts it, and nobody is admitted in the step in which somebody had to leave.

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
        policies: Policies = Policies(),
    ) -> None:
        if max_running < 1 or token_budget < 1:
            raise UsageError(f"at least 1 request and 1 token a step, not {max_running} and {token_budget}")
        if not 0 <= watermark < 1:
            raise UsageError(f"a watermark is a share of the blocks from 0 to below 1, not {watermark}")
        self.store, self.policies = store, policies
        self.max_running, self.token_budget, self.watermark = max_running, token_budget, watermark
        self.waiting: list[Any] = []
        """In order; those who were swapped out wait among the others."""
        self.prefilling: dict[Hashable, Any] = {}
        self.decoding: dict[Hashable, Any] = {}
        self.preemptions = self.swaps = self.recomputed_tokens = 0
        self._plan: Plan | None = None
        self._at_work = False

    @property
    def num_running(self) -> int:
        """Jobs that hold blocks."""
        return len(self.decoding) + len(self.prefilling)

    @property
    def running(self) -> list[Any]:
        """Those jobs, the first in order first."""
        return sorted([*self.decoding.values(), *self.prefilling.values()], key=self.policies.order)

    @property
    def has_work(self) -> bool:
        """Whether anybody waits or runs."""
        return bool(self.waiting or self.decoding or self.prefilling)

    def submit(self, job: Any) -> None:
        """Queue a job. That it can ever fit is for the caller to know (I10)."""
        job.state = "waiting"
        insort(self.waiting, job, key=self.policies.order)

    def schedule(self) -> Plan:
        """The next step: those who decode, then prompts under way, then who can be admitted. Empty if nobody is there.

        A job that is alone and cannot go on raises `Stuck`, and everything stays as it was.
        """
        if self._at_work:
            self._recover()
        plan = self._unfinished() if self._plan is not None else Plan()
        if self._plan is not None:
            return plan
        self._at_work = True
        self._decode(plan)
        left = self._continue(plan, self.token_budget - len(plan.decoding))
        if not plan.preempted:
            self._admit(plan, left)
        self._plan, self._at_work = plan, False
        return plan

    def commit(self, plan: Plan) -> None:
        """The plan was carried out: its tokens are in the pools."""
        for job, _, stop, last in plan.chunks:
            if self.prefilling.get(job.id) is job:
                job.computed = stop
                if last:
                    self.decoding[job.id] = self.prefilling.pop(job.id)
        self._plan = None

    def end(self, job: Any) -> None:
        """Let a job go, whatever its state, and give back what it holds. One that has ended stays as it is."""
        if job.state == "running":
            self.store.free(job.id)
            if self.decoding.pop(job.id, None) is None:
                del self.prefilling[job.id]
        elif job.state in ("waiting", "swapped"):
            self.waiting.remove(job)
            if job.state == "swapped":
                self.store.forget(job.id)
        job.state = "ended"

    def _unfinished(self) -> Plan:
        """What is left of a plan that was not carried out, once those who have ended are taken out; or an empty plan."""
        plan, self._plan = self._plan or Plan(), None
        still = [pair for pair in zip(plan.decoding, plan.slots, strict=True) if self.decoding.get(pair[0].id) is pair[0]]
        plan.decoding, plan.slots = [job for job, _ in still], [slot for _, slot in still]
        plan.chunks = [chunk for chunk in plan.chunks if self.prefilling.get(chunk.job.id) is chunk.job]
        if plan.num_tokens:
            self._plan = plan
            return plan
        return Plan(swap_out=plan.swap_out)  # nobody is left of those whom its other copies were for

    def _decode(self, plan: Plan) -> None:
        """A token for everybody who decodes, whoever has to leave for it."""
        while self.decoding:
            ids = self.decoding.keys()
            try:
                plan.slots, plan.copies = self.store.append_each(ids)
                break
            except OutOfBlocks as error:
                self._preempt(plan, error)
        plan.decoding = list(self.decoding.values())

    def _continue(self, plan: Plan, left: int) -> int:
        """Chunks of prompts that are under way, in order, out of `left` tokens; returns what is left then."""
        if self.prefilling:
            for job in sorted(self.prefilling.values(), key=self.policies.order):
                left -= self._chunk(plan, job, left)
        return left

    def _admit(self, plan: Plan, left: int) -> None:
        """Admit from the head of the queue, and nobody past it, as long as tokens and blocks are left."""
        while self.waiting and left > 0 and self.num_running < min(self.max_running, self.token_budget):
            job = self.waiting[0]
            try:
                left -= self._bring_back(plan, job) if job.state == "swapped" else self._start(plan, job, left)
            except OutOfBlocks as error:
                if not self.num_running:
                    self._refuse(job, error)
                return
            plan.admitted.append(job)

    def _start(self, plan: Plan, job: Any, left: int) -> int:
        """Admit a job that holds nothing; returns how many tokens it runs in this step."""
        job.computed = self.store.admit(job, self._spare)
        self._run(job, self.prefilling)
        return self._chunk(plan, job, left)

    def _bring_back(self, plan: Plan, job: Any) -> int:
        """Swap a job in; it decodes at once."""
        plan.swap_in += self.store.swap_in(job.id, self._spare)
        self._run(job, self.decoding)
        slots, copies = self.store.append_each([job.id])
        plan.decoding.append(job)
        plan.slots += slots
        plan.copies += copies
        return 1

    @property
    def _spare(self) -> int:
        """Blocks that must stay free when somebody is admitted."""
        return ceil(self.watermark * self.store.num_blocks) if self.num_running else 0

    def _run(self, job: Any, where: dict[Hashable, Any]) -> None:
        where[job.id] = job
        job.state = "running"
        del self.waiting[0]

    @staticmethod
    def _chunk(plan: Plan, job: Any, left: int) -> int:
        """As many of the job's tokens as fit into `left`; returns how many."""
        length = job.length
        stop = min(job.computed + max(left, 0), length)
        if stop > job.computed:
            plan.chunks.append(Chunk(job, job.computed, stop, stop == length))
        return stop - job.computed

    def _preempt(self, plan: Plan, error: OutOfBlocks) -> None:
        """The policies' victim leaves, swapped if they say so and the host has room, else to be recomputed."""
        running = self.running
        if len(running) == 1:
            self._refuse(running[0], error)
        job = self.policies.victim(running)
        if job is running[0]:
            raise InvariantBroken("I11", f"request {job.id!r} is the first in order, and {len(running) - 1} others run")
        swapped = job.id in self.decoding and self._swap_out(plan, job)
        if not swapped:
            self.recomputed_tokens += self.store.num_tokens(job.id) if job.id in self.decoding else job.computed
            self.store.free(job.id)
            job.computed = 0
        del (self.decoding if job.id in self.decoding else self.prefilling)[job.id]
        self.submit(job)
        job.state = "swapped" if swapped else "waiting"
        self.preemptions += 1
        self.swaps += swapped
        plan.preempted.append(job)

    def _swap_out(self, plan: Plan, job: Any) -> bool:
        """Whether the job was swapped to the host: the policies want it and there is room."""
        tokens = self.store.num_tokens(job.id)
        if not self.policies.swap(tokens, blocks_needed(tokens, self.store.block_size)):
            return False
        try:
            plan.swap_out += self.store.swap_out(job.id)
        except OutOfBlocks:
            return False
        return True

    def _refuse(self, job: Any, error: OutOfBlocks) -> NoReturn:
        self._at_work = False
        raise Stuck(job.id, error.needed, error.free, self.store.num_blocks) from None

    def _recover(self) -> None:
        """Planning was interrupted somewhere: all who ran or were swapped give everything back and begin again."""
        self._plan, self._at_work = None, False
        jobs = {job.id: job for job in (*self.waiting, *self.decoding.values(), *self.prefilling.values())}
        for job in jobs.values():
            self.store.discard(job.id)
            job.computed, job.state = 0, "waiting"
        self.prefilling.clear()
        self.decoding.clear()
        self.waiting[:] = sorted(jobs.values(), key=self.policies.order)
