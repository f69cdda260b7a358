"""Length models: how long prompts and answers are in the course's traces, and where that is known from."""

from __future__ import annotations

from math import log

import numpy as np

from kvlab.errors import UsageError

from .workload import Trace, make_trace

LESSON_SEED = 21419
"""Searched, not drawn: about one seed in 100,000 gives every printed digit of the published table."""


def lesson_lengths(seed: int, n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """`(prompts, answers)` of the lesson's model: answers log-normal with mean 300, 1 to 2,048; prompts uniform,
    200 to 1,500.
    """
    r = np.random.default_rng(seed)
    answers = np.clip(np.floor(r.lognormal(log(300) - 1.2**2 / 2, 1.2, n)), 1, 2048).astype(np.int64)  # drawn first
    return r.integers(200, 1501, n), answers


def lesson_trace(seed: int = LESSON_SEED) -> Trace:
    """The lesson's 200 requests; with another `seed`, 200 others of the same model.

    The default's pairs are kept in `lesson_trace.json` too, so that they outlive any change to numpy's generators.
    """
    return make_trace("lesson" if seed == LESSON_SEED else f"lesson model, seed {seed}", *lesson_lengths(seed))


def sharegpt_like(n: int, seed: int) -> Trace:
    """`n` requests as long as those of ShareGPT: mean prompt 161 and mean answer 338 tokens, at most 2,048
    together.

    The means are those of Kwon et al. 2023 (arXiv 2309.06180, figure 11). That they are log-normal is our choice,
    and so are the spreads: with them a replay of the paper's experiment gives its bars and its numbers of running
    requests.
    """
    return _log_normal("sharegpt-like", n, seed, prompt=(4.615, 1.0), answer=(5.48, 0.85))


def alpaca_like(n: int, seed: int) -> Trace:
    """`n` requests as long as those of Alpaca: mean prompt 19.3 and mean answer 58.5 tokens (Kwon et al. 2023,
    figure 11).
    """
    return _log_normal("alpaca-like", n, seed, prompt=(2.78, 0.6), answer=(3.575, 1.0))


def _log_normal(name: str, n: int, seed: int, prompt: tuple[float, float], answer: tuple[float, float]) -> Trace:
    """Prompts of 1 to 1,024 tokens and answers that keep the total within 2,048; each is given as (mu, sigma)."""
    if n < 0:
        raise UsageError(f"a trace cannot have {n} requests")
    r = np.random.default_rng(seed)
    prompts = np.clip(np.rint(r.lognormal(*prompt, n)), 1, 1024).astype(np.int64)
    answers = np.clip(np.rint(r.lognormal(*answer, n)), 1, 2048 - prompts).astype(np.int64)
    return make_trace(name, prompts, answers)
