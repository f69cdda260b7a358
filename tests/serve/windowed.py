"""Engines of tiny models with sliding windows, prompts longer than these, and what generate() says to each."""

from __future__ import annotations

import functools
import math

from kvlab.serve.engine import Engine
from tests.serve.models import greedy, prompt, tiny

B, WINDOW, NEW = 4, 6, 24
LENGTHS = [1, 5, 8, 21, 40, 13]
PROMPTS = [prompt(length, seed) for seed, length in enumerate(LENGTHS)]
WINDOWED = ["mistral", "gemma2", "gemma3", "gpt_oss"]


@functools.cache
def expected(name: str) -> list[list[int]]:
    """The tokens that generate() adds to each prompt."""
    return [greedy(tiny(name), ids, NEW) for ids in PROMPTS]


def engine(name: str, num_blocks: int = 60, **options) -> Engine:
    """An engine that gives back what is behind windows, and checks itself after each step."""
    return Engine(tiny(name), num_blocks, B, checked=True, fill=math.nan, hybrid=True, **options)


def idle(serving: Engine) -> bool:
    """Whether nobody is left and every block but the null block is free."""
    free = serving.manager.pool.num_free == serving.num_blocks - 1
    return free and serving.manager.pool.ref_count(0) == 1 and len(serving.manager) == 0
