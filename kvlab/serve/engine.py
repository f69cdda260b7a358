"""The engine: continuous batching of prefill and decode on paged memory, whatever the load and however small the pool.

Each step asks the scheduler for a plan, copies blocks where it says so, runs one flattened batch of prompts' chunks and
decoding tokens, samples, and frees what has ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import Any

from transformers import PreTrainedModel

from kvlab.compute import Kernels, PagedAttention, Scales
from kvlab.compute.scales import Scale
from kvlab.errors import InvariantBroken
from kvlab.memory import BlockManager, Tier

from .assembling import assembled
from .counters import Counters
from .desk import Desk
from .hf import PagedModel
from .line import Line
from .ordering import Order
from .outcome import Outcome, carry_out, decide
from .placement import Placement
from .policies import USUAL, Policies
from .request import Generation
from .reuse import Prefix
from .scheduler import Scheduler
from .submission import Submissions
from .tiering import attach
from .windows import memory_for


class Engine(Submissions, Counters):
    """Serves one Hugging Face causal language model (see `PagedModel` for which) from a pool of `num_blocks` blocks.

    max_running: requests that run at once. token_budget: tokens of one step; decoding requests come first, a token
    each, and prompts share what is left, in chunks. manager: a stand-in for `BlockManager`, of as many blocks of the
    same size, else `UsageError`; attention: for `paged_attention`; kernels: Triton kernels for writing and decoding
    (`Kernels`); all may be a learner's. prefix: finds prompts that were computed before: "hash" or "radix", an index
    over the manager's pool, or what makes one (`PrefixCache`, a learner's own); by default nothing is looked for.
    tiers: where what an index finds is kept beyond the pool, the nearest first (`HostTier`, `DiskTier`); they are this
    engine's until `close`. host_blocks: blocks in the host's memory, where requests may be swapped to. watermark,
    policies: see `Scheduler`, which decides who runs and who must leave when no block is free. order: who of those who
    wait goes next, by default who came first. kv_dtype, scales: "fp8" keeps keys and values in 8 bits, divided by
    scales such as `kvlab.serve.quality.calibrate_on` finds, or "token_head"; see `PagedCache`. hybrid: for a model with
    sliding windows, a block table for each group of layers, so that blocks behind a window go back to the pool and
    serve anybody (see `HybridManager`); one block is the null block then, and prompts are found again only where all
    layers slide. checked: `check()` runs after every step, and what is found is compared with what was written.
    """

    scheduler_type: type[Scheduler] = Scheduler
    _decided: Outcome | None = None

    def __init__(
        self,
        model: PreTrainedModel,
        num_blocks: int,
        block_size: int = 16,
        *,
        max_running: int = 256,
        token_budget: int = 512,
        manager: BlockManager | None = None,
        attention: PagedAttention | None = None,
        kernels: Kernels | None = None,
        checked: bool = False,
        fill: float = 0.0,
        prefix: Prefix | None = None,
        order: Order | None = None,
        host_blocks: int = 0,
        watermark: float = 0.01,
        policies: Policies = USUAL,
        tiers: Sequence[Tier] = (),
        kv_dtype: str = "auto",
        scales: Scales | str | tuple[Scale, Scale] | None = None,
        hybrid: bool = False,
    ) -> None:
        chunk = token_budget if hybrid else None
        memory = memory_for(model, num_blocks, block_size, manager, host_blocks, prefix, checked, bool(tiers), chunk)
        self.manager, self.store, self._reuse = memory.manager, memory.store, memory.reuse
        self.num_blocks, self.block_size, self.checked = num_blocks, block_size, checked
        policies = policies if order is None else policies._replace(pick=order)
        self.scheduler = self.scheduler_type(
            self.store, max_running=max_running, token_budget=token_budget, watermark=watermark, policies=policies
        )
        self.paged = PagedModel(
            *(model, num_blocks, block_size), attention=attention, kernels=kernels,
            fill=fill, kv_dtype=kv_dtype, scales=scales, groups=memory.groups,
        )  # fmt: skip
        self._line = Line(self.scheduler)
        self._desk = Desk(memory.limits(self.paged.max_positions), self.paged)
        self._placement = Placement(self.manager, self.paged, host_blocks)
        self._tiers = attach(tiers, self.paged, self._reuse, self._placement)

    @classmethod
    def from_my_parts(cls, model: PreTrainedModel, num_blocks: int, block_size: int = 16, **options: Any) -> Engine:
        """An engine of the learner's own parts, as far as their exercises passed, and finished ones for the rest.

        See `kvlab.course.myparts.engine_from_my_parts` for the options and for what happens to a part that fails.
        """
        return assembled(model, num_blocks, block_size, **options)

    @property
    def has_work(self) -> bool:
        """Whether any request waits or runs."""
        return self.scheduler.has_work

    def step(self) -> list[Generation]:
        """Plan, run one flattened batch, sample. Returns the generations that got a token.

        If it is interrupted or fails, no token is lost or doubled: the next step runs the same tokens into the same
        slots, or carries out what this one had decided.
        """
        began = perf_counter()
        self._settle()  # what a step that was interrupted had decided
        plan = self.scheduler.schedule()
        if not plan.num_tokens:
            return []
        self._in_step = True
        try:
            batch, ran = self._placement.place(plan, self.checked)
            self.planning_seconds += perf_counter() - began
            self._decided = outcome = decide(plan, ran, self.paged.forward(batch))
        finally:
            self._in_step = False
        self._settle()
        self.steps += 1
        self.projected_tokens += batch.plan.num_tokens
        self.generated_tokens += len(outcome.tokens) + sum(len(state.beams) for _, state in outcome.beams)
        self.step_seconds += perf_counter() - began
        if self.checked:
            self.check()
        return [token.generation for token in outcome.tokens]

    def run(self) -> None:
        """Step until nothing waits or runs."""
        while self.has_work:
            self.step()

    def stream(self, generation: Generation) -> Iterator[int]:
        """The generation's tokens as they come. The engine steps for all its requests when one is missing.

        One that has not ended and is not this engine's is refused with `UsageError`.
        """
        sent = 0
        while True:
            yield from generation.tokens[sent:]
            sent = len(generation.tokens)
            if generation.finished and sent == len(generation.tokens):
                return
            if not generation.finished:
                self._line.refuse_stranger(generation)
                self.step()

    def settle_tiers(self) -> None:
        """Wait until the tiers have stored what they were given, so that what is found does not depend on their pace.

        Serving never needs it; measurements and tests do.
        """
        if self._tiers is not None:
            self._tiers.stack.drain()

    def close(self) -> None:
        """Let the tiers finish what is under way, and keep there what a later engine can use. Twice is once.

        Requests can still be served afterwards, but without tiers. An engine that has none need not be closed.
        """
        if self._tiers is not None:
            self._tiers.close()

    def check(self) -> None:
        """Walk everything: pools, tables and counts (I1, I2), and tokens that have slots (I3)."""
        self.store.check()
        for generation in self.running:
            tokens = self.manager.num_tokens(generation.id)
            if not generation.computed <= tokens <= generation.length:
                counts = f"{generation.computed} computed, {generation.length} in all"
                raise InvariantBroken("I3", f"request {generation.id!r}: {tokens} tokens in the table, {counts}")
        self._reuse.check()

    def _settle(self) -> None:
        """Carry out what has been decided, and free whoever has ended."""
        if self._decided is not None:
            carry_out(self._decided, self._line)
            self._reuse.publish(generation for generation, _ in self._decided.computed)
            self._decided = None
        self._line.retire()
