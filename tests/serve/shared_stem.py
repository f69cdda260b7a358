"""Prompts that begin alike, what generate() says to each, and engines that share prefixes."""

from __future__ import annotations

import functools
import math

import pytest

from kvlab.memory import INDEXES
from kvlab.serve.engine import Engine
from tests.serve.models import greedy, prompt, tiny

B = 4
STEM = prompt(13)
PROMPTS = [
    STEM[:8],
    STEM[:9],
    STEM,
    STEM[:11] + prompt(3, 1),
    STEM[:6] + prompt(5, 2),
    prompt(7, 3),
    [*STEM, *prompt(4, 4)],
]
NEW = 6


@functools.cache
def expected(name: str = "llama") -> list[list[int]]:
    """The tokens that generate() adds to each prompt."""
    return [greedy(tiny(name), ids, NEW) for ids in PROMPTS]


def engine(prefix, num_blocks: int = 40, name: str = "llama", **options) -> Engine:
    """An engine with that prefix index, which checks itself after each step."""
    return Engine(tiny(name), num_blocks, B, checked=True, fill=math.nan, prefix=prefix, **options)


@pytest.fixture(params=INDEXES)
def kind(request) -> str:
    """Each prefix index by its name."""
    return request.param
