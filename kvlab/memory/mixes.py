"""Traces whose prompts share tokens, and traces whose requests arrive over time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

import numpy as np

from kvlab.errors import UsageError

from .workload import Request, Trace

TEXTS_PER_SEED = 2**20
"""Segment numbers that one trace may use: traces of different seeds share no text."""


def _texts(seed: int) -> Iterator[int]:
    """Numbers for texts that occur nowhere else."""
    return count(seed * TEXTS_PER_SEED)


def _counts(**counts: int) -> None:
    for name, number in counts.items():
        if number < 1:
            raise UsageError(f"{name} must be at least 1, not {number}")


def _request(
    segments: list[tuple[int, int]], answer: int, arrival: float = 0.0, says: int | None = None
) -> Request:
    return Request(sum(length for _, length in segments), answer, arrival, tuple(segments), says)


def no_sharing(trace: Trace, seed: int) -> Trace:
    """The same requests, each with a text of its own: what a prefix cache costs when it cannot help."""
    texts = _texts(seed)
    return Trace(trace.name, tuple(replace(request, segments=((next(texts), request.prompt),)) for request in trace))


def shared_prefix(n: int, seed: int, shared: int = 1024, own: tuple[int, int] = (50, 300), answer: int = 8) -> Trace:
    """`n` requests that begin with the same `shared` tokens, then have from `own[0]` to `own[1]` of their own.

    The defaults are the load of the course's shared-prefix benchmark.
    """
    _counts(n=n, shared=shared, own=own[0], answer=answer)
    if own[1] < own[0]:
        raise UsageError(f"own prompts of {own[0]} to {own[1]} tokens: the second number is below the first")
    texts = _texts(seed)
    system = (next(texts), shared)
    lengths = np.random.default_rng(seed).integers(own[0], own[1] + 1, n)
    return Trace("shared prefix", tuple(_request([system, (next(texts), int(length))], answer) for length in lengths))


def few_shot(
    n: int, seed: int, tasks: int = 4, shots: int = 5, shot: int = 120, question: int = 60, answer: int = 20
) -> Trace:
    """`n` questions to `tasks` tasks in turn; each prompt begins with its task's `shots` examples of `shot` tokens."""
    _counts(n=n, tasks=tasks, shots=shots, shot=shot, question=question, answer=answer)
    texts = _texts(seed)
    examples = [[(next(texts), shot) for _ in range(shots)] for _ in range(tasks)]
    asked = np.random.default_rng(seed).integers(question // 2 + 1, 2 * question - question // 2, n)  # mean: question
    return Trace(
        "few-shot",
        tuple(
            _request([*examples[number % tasks], (next(texts), int(length))], answer)
            for number, length in enumerate(asked)
        ),
    )


def tree_of_thoughts(
    trees: int, seed: int, branches: int = 3, depth: int = 3, root: int = 400, thought: int = 60
) -> Trace:
    """`trees` problems of `root` tokens; `depth` times, each thought is followed by `branches` of `thought` tokens.

    A request is one thought: its prompt is the path that leads to it. They come breadth first, as a search would
    send them.
    """
    _counts(trees=trees, branches=branches, depth=depth, root=root, thought=thought)
    texts = _texts(seed)
    level = [[(next(texts), root)] for _ in range(trees)]
    requests = []
    for _ in range(depth):
        paths = [path for path in level for _ in range(branches)]
        level = [[*path, (next(texts), thought)] for path in paths]
        requests += [_request(path, thought, says=longer[-1][0]) for path, longer in zip(paths, level, strict=True)]
    return Trace("tree of thoughts", tuple(requests))


def multi_turn(
    chats: int,
    turns: int,
    seed: int,
    system: int = 100,
    question: int = 50,
    answer: int = 150,
    rate: float = 1.0,
    pause: float = 30.0,
) -> Trace:
    """`chats` conversations of `turns` turns: each prompt is the whole conversation so far and a new question.

    All begin with the same `system` tokens; `question` and `answer` are mean tokens. Chats begin at random, `rate`
    a second; the next question comes `pause` seconds later on average, long enough for the blocks of the last turn
    to be in someone's way.
    """
    _counts(chats=chats, turns=turns, system=system, question=question, answer=answer)
    r, texts = np.random.default_rng(seed), _texts(seed)
    greeting = (next(texts), system)
    requests = []
    for begin in _gaps(r, rate, chats):
        said, now = [greeting], begin
        for _ in range(turns):
            asked, answered = (1 + int(r.poisson(mean - 1)) for mean in (question, answer))
            said.append((next(texts), asked))
            text = next(texts)
            requests.append(_request(said, answered, now, text))
            said.append((text, answered))
            now += float(r.exponential(pause))
    return Trace("multi-turn", tuple(sorted(requests, key=lambda request: request.arrival)))


def poisson_arrivals(trace: Trace, rate: float, seed: int) -> Trace:
    """The same requests in the same order, arriving independently of each other, `rate` a second on average."""
    return _arriving(trace, _gaps(np.random.default_rng(seed), rate, len(trace)))


def bursty_arrivals(trace: Trace, rate: float, seed: int, burst: int = 8) -> Trace:
    """The same requests at the same average `rate`, but `burst` at a time: a queue forms even where it need not."""
    _counts(burst=burst)
    times = _gaps(np.random.default_rng(seed), rate / burst, -(-len(trace) // burst))
    return _arriving(trace, [time for time in times for _ in range(burst)][: len(trace)])


def _gaps(r: np.random.Generator, rate: float, n: int) -> list[float]:
    """`n` moments with exponential gaps between them, `rate` a second."""
    if not 0 < rate < float("inf"):
        raise UsageError(f"rate must be above 0 a second, not {rate}")
    return np.cumsum(r.exponential(1 / rate, n)).tolist()


def _arriving(trace: Trace, times: list[float]) -> Trace:
    return Trace(trace.name, tuple(replace(request, arrival=time) for request, time in zip(trace, times, strict=True)))
