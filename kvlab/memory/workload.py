"""Requests and traces: what the server is asked, the same on every machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import log
from pathlib import Path

import numpy as np

from kvlab.errors import UsageError


@dataclass(frozen=True)
class Request:
    """One request: prompt and answer lengths in tokens, arrival in seconds, and what its prompt is made of.

    `segments` are `(seed, length)` pairs that add up to the prompt; equal pairs at equal places mean equal tokens.
    """

    prompt: int
    answer: int
    arrival: float = 0.0
    segments: tuple[tuple[int, int], ...] = ()

    @property
    def total(self) -> int:
        """Tokens the request holds when it ends."""
        return self.prompt + self.answer


@dataclass(frozen=True)
class Trace:
    """A named sequence of requests, in order of arrival."""

    name: str
    requests: tuple[Request, ...]

    def __len__(self) -> int:
        return len(self.requests)

    def __iter__(self) -> Iterator[Request]:
        return iter(self.requests)

    def save(self, path: str | Path) -> None:
        """Write the trace as JSON."""
        rows = [[r.prompt, r.answer, r.arrival, [list(s) for s in r.segments]] for r in self.requests]
        Path(path).write_text(json.dumps({"name": self.name, "requests": rows}) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Trace:
        """Read what `save` wrote."""
        data = json.loads(Path(path).read_text(encoding="utf-8"))
        rows = data["requests"]
        return cls(data["name"], tuple(Request(p, a, t, tuple((s, n) for s, n in segments)) for p, a, t, segments in rows))


def _trace(name: str, prompts: np.ndarray, answers: np.ndarray) -> Trace:
    return Trace(name, tuple(Request(int(prompt), int(answer)) for prompt, answer in zip(prompts, answers)))


def lesson_lengths(seed: int, n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """`(prompts, answers)` of the lesson's length model (TRACE.md): answers log-normal with mean 300, prompts uniform 200-1,500."""
    r = np.random.default_rng(seed)
    answers = np.clip(np.floor(r.lognormal(log(300) - 1.2**2 / 2, 1.2, n)), 1, 2048).astype(np.int64)  # drawn first
    return r.integers(200, 1501, n), answers


def lesson_trace() -> Trace:
    """The lesson's 200 requests. Their seed was searched so that the published table comes out to the digit."""
    return _trace("lesson", *lesson_lengths(21419))


def _lognormal(r: np.random.Generator, mean: float, sigma: float, n: int, most: int) -> np.ndarray:
    return np.clip(np.rint(r.lognormal(log(mean) - sigma**2 / 2, sigma, n)), 1, most).astype(np.int64)


def sharegpt_like(n: int, seed: int) -> Trace:
    """`n` requests with ShareGPT-like lengths: mean prompt 161, mean answer 338, at most 2,048 together (Kwon et al. 2023, figure 11)."""
    r = np.random.default_rng(seed)
    prompts = _lognormal(r, 161, 1.3, n, 1024)
    return _trace("sharegpt-like", prompts, np.minimum(_lognormal(r, 338, 1.0, n, 1024), 2048 - prompts))


def alpaca_like(n: int, seed: int) -> Trace:
    """`n` requests with Alpaca-like lengths: mean prompt 19.3, mean answer 58.5 (Kwon et al. 2023, figure 11)."""
    r = np.random.default_rng(seed)
    return _trace("alpaca-like", _lognormal(r, 19.3, 0.6, n, 1024), _lognormal(r, 58.5, 1.0, n, 1024))


def poisson_arrivals(trace: Trace, rate: float, seed: int) -> Trace:
    """The same requests arriving at random, `rate` a second on average."""
    if not rate > 0:
        raise UsageError(f"rate must be above 0 requests a second, not {rate}")
    times = np.cumsum(np.random.default_rng(seed).exponential(1 / rate, len(trace)))
    return Trace(trace.name, tuple(replace(request, arrival=float(time)) for request, time in zip(trace, times)))


def shared_prefix(n: int, seed: int, shared: int = 1024, own: tuple[int, int] = (50, 300), answer: int = 8) -> Trace:
    """`n` requests that start with the same `shared` tokens and go on with `own` = (least, most) tokens of their own."""
    lengths = np.random.default_rng(seed).integers(own[0], own[1] + 1, n)
    return Trace("shared prefix", tuple(
        Request(shared + int(length), answer, segments=((0, shared), (number + 1, int(length)))) for number, length in enumerate(lengths)
    ))


def multi_turn(chats: int, turns: int, seed: int, system: int = 100, question: int = 50, answer: int = 150) -> Trace:
    """`chats` conversations of `turns` turns: each prompt is the conversation so far and a new question. Lengths are means."""
    r = np.random.default_rng(seed)
    requests = []
    for chat in range(chats):
        said: list[tuple[int, int]] = [(0, system)]
        for turn in range(turns):
            asked, answered = (1 + int(r.poisson(mean - 1)) for mean in (question, answer))
            key = 1 + 2 * (chat * turns + turn)
            said.append((key, asked))
            requests.append((turn, Request(sum(length for _, length in said), answered, segments=tuple(said))))
            said.append((key + 1, answered))
    requests.sort(key=lambda pair: pair[0])
    return Trace("multi-turn", tuple(request for _, request in requests))
