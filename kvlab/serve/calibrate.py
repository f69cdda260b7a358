"""This machine as a cost model: steps of known sizes, timed on the engine, and the line through them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from time import perf_counter
from typing import NamedTuple

import numpy as np
from torch import Tensor
from transformers import PreTrainedModel

from kvlab.errors import UsageError
from kvlab.memory import blocks_needed

from .batch import Batch
from .costmodel import PICOSECONDS, StepCost
from .engine import Engine


class Timed(NamedTuple):
    """A step that was timed: tokens run, query-key pairs looked at, and seconds."""

    tokens: int
    pairs: int
    seconds: float


def calibrate(
    model: PreTrainedModel,
    *,
    block_size: int = 16,
    running: Sequence[int] = (2, 8, 32),
    longest: int = 160,
    rounds: int = 3,
) -> StepCost:
    """The cost of a step of `model` in this engine on this machine, from a few seconds of steps.

    For each number of `running` requests a small load is served: prompts of up to `longest` tokens in chunks, answers
    of up to half as many, so that steps of all mixtures occur. Every step is timed; of `rounds` the quickest counts,
    since what else runs on the machine only makes it slower. There is no roofline in the result: a fixed part, one for
    each token and one for each pair. Fewer than two numbers of requests could not tell these apart: `UsageError`.
    """
    if len(set(running)) < 2 or longest < 4 or rounds < 1:
        raise UsageError(f"two loads, prompts of 4 tokens and a round are needed, not {running}, {longest}, {rounds}")
    found: list[Timed] = []
    for most in running:
        tried = [_steps(model, block_size, most, longest) for _ in range(rounds)]
        found += [min(steps, key=lambda step: step.seconds) for steps in zip(*tried, strict=True)]
    return fit(found)


def fit(steps: Sequence[Timed]) -> StepCost:
    """The step cost nearest to what was timed (least squares, so that the sums agree), with no part below 0."""
    rows = np.array([(1, step.tokens, step.pairs) for step in steps], dtype=float)
    seconds = np.array([step.seconds for step in steps])
    parts, used = np.zeros(3), [0, 1, 2]
    while used:
        parts[:] = 0
        parts[used] = np.linalg.lstsq(rows[:, used], seconds, rcond=None)[0]
        if (parts[used] >= 0).all():
            break
        used.remove(min(used, key=lambda part: parts[part]))
    fixed, token, pair = (max(0, round(float(part) * PICOSECONDS)) for part in parts)
    return StepCost(fixed=fixed, weights=0, context=0, token=token, pair=pair)


def _steps(model: PreTrainedModel, block_size: int, running: int, longest: int) -> list[Timed]:
    """All steps of a load of twice as many requests as may run; the same each time."""
    draw, blocks = random.Random(running), running * blocks_needed(2 * longest, block_size)
    engine = Engine(model, blocks, block_size, max_running=running, token_budget=max(running, longest), watermark=0)
    vocabulary = engine.paged.vocab_size
    for _ in range(2 * running):
        prompt = [draw.randrange(vocabulary) for _ in range(draw.randint(longest // 8 + 1, longest))]
        engine.submit(prompt, draw.randint(2, longest // 2), eos=())
    sizes: list[tuple[int, int]] = []
    forward = engine.paged.forward

    def watched(batch: Batch) -> Tensor:
        queries, contexts = np.asarray(batch.plan.queries), np.asarray(batch.plan.contexts)
        sizes.append((int(queries.sum()), int((queries * (2 * contexts - queries + 1)).sum()) // 2))
        return forward(batch)

    engine.paged.forward = watched  # type: ignore[method-assign]
    times = []
    while engine.has_work:
        began = perf_counter()
        engine.step()
        times.append(perf_counter() - began)
    return [Timed(*size, seconds) for size, seconds in zip(sizes, times, strict=True)]
