"""Samples of one prompt from an engine of a tiny model."""

from __future__ import annotations

import math

from kvlab.serve.engine import Engine
from kvlab.serve.sampling import Sampling
from tests.serve.models import tiny
from tests.serve.tiny_engine import idle

B = 4
WARM = Sampling(temperature=1.5, top_k=50, seed=3)


def engine(num_blocks: int = 100, **options) -> Engine:
    """An engine that checks itself after each step, with NaN wherever nothing was written."""
    return Engine(tiny("llama"), num_blocks, B, checked=True, fill=math.nan, **options)


def answers(n: int, ids: list[int], new: int = 9, setting: Sampling = WARM, **options) -> list[list[int]]:
    """The tokens of `n` samples, from an engine that does nothing else."""
    serving = engine(**options)
    samples = serving.sample(ids, n, new, setting, eos=())
    serving.run()
    assert idle(serving)
    return [sample.tokens for sample in samples.samples]
