"""The simulator: a trace served by a policy on so much memory, in simulated time. `simulation` is how it does so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kvlab.memory import CONTEXT, KV_TOKENS, MAX_ANSWER, BlockManager, Trace

from .costmodel import StepCost, step_cost
from .counted import CountedStore
from .policies import USUAL, Policies
from .report import Report
from .reserved import ReservedStore
from .scheduler import Scheduler
from .simulation import Simulation
from .stores import PagedStore


def simulate(
    trace: Trace,
    policy: str = "paged",
    *,
    capacity: int = KV_TOKENS,
    block_size: int = 16,
    cost: StepCost | None = None,
    host_blocks: int = 0,
    max_running: int = 256,
    token_budget: int = 2048,
    watermark: float = 0.01,
    policies: Policies = USUAL,
    priorities: Sequence[int] = (),
    context: int = CONTEXT,
    max_answer: int = MAX_ANSWER,
    jump: bool = True,
) -> Report:
    """Serve `trace` on `capacity` token slots: "paged", or one of `kvlab.memory.POLICIES`, which reserve.

    cost: by default the course's 8B assistant on an A100 80 GB. jump: take runs of equal decode steps at once, on a
    memory that counts its blocks; the results are the same without, step by step on the engine's `BlockManager`.
    context, max_answer: what some policies reserve.
    """
    store: Any
    if policy != "paged":
        store = ReservedStore(capacity, policy, context, max_answer)
    elif jump:
        store = CountedStore(capacity // block_size, block_size, host_blocks)
    else:
        store = PagedStore(BlockManager(capacity // block_size, block_size), host_blocks)
    scheduler = Scheduler(
        store, max_running=max_running, token_budget=token_budget, watermark=watermark, policies=policies
    )
    return Simulation(trace, scheduler, cost or step_cost(block_size=block_size), jump, priorities).run()
