"""Engines of a tiny model, eight prompts for them, and what generate() says to each."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator

from kvlab.serve.engine import Engine
from tests.serve.models import greedy, prompt, tiny

B = 4
PROMPTS = [prompt(length, seed) for seed, length in enumerate([1, 3, 4, 5, 8, 9, 13, 2])]
ANSWERS = [12, 1, 7, 3, 9, 2, 5, 12]


@functools.cache
def expected(name: str = "llama") -> list[list[int]]:
    """The 12 tokens that generate() adds to each prompt."""
    return [greedy(tiny(name), ids, 12) for ids in PROMPTS]


def engine(num_blocks: int = 40, name: str = "llama", **options) -> Engine:
    """An engine that checks itself after each step, with NaN wherever nothing was written."""
    return Engine(tiny(name), num_blocks, B, checked=True, fill=math.nan, **options)


def interrupts(engine: Engine) -> Iterator[int]:
    """Steps until nobody is left, whatever interrupts a step. After each interrupt: how many there were."""
    count = 0
    while engine.has_work:
        try:
            engine.step()
        except KeyboardInterrupt:
            count += 1
            yield count


def idle(engine: Engine) -> bool:
    """Whether nobody is left and every block is free."""
    return not engine.has_work and engine.manager.pool.num_free == engine.num_blocks and len(engine.manager) == 0
