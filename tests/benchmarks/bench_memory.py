"""Microseconds per admit, appended token and free of the block manager, beside a bare-Python floor and a peer; and per
fork and copy-on-write append.

python -m tests.benchmarks.bench_memory [--requests 1000] [--rounds 5] [--json PATH]

The load is that of the course's performance page: prompts of 200 to 1,500 tokens, answers of about 300, 256
requests at a time, one token appended to each a step, a pool of 32,768 blocks of 16. The systems take turns within
each round, since only ratios within one run mean anything; a figure is the median over rounds of the medians over
calls.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import NamedTuple

import numpy as np

from kvlab.memory import BlockManager
from tests.benchmarks import command
from tests.benchmarks.memory_systems import BLOCK_SIZE, NUM_BLOCKS, Floor, HuggingFace, Ours, System

RUNNING, MAX_ANSWER = 256, 2048


class Load(NamedTuple):
    """One request of the load."""

    tokens: list[int]
    answer: int


class Timings(NamedTuple):
    """Microseconds per call."""

    admit: float
    append: float
    free: float


def make_load(requests: int, seed: int = 0) -> list[Load]:
    """`requests` requests of the load, the same on every machine."""
    r = np.random.default_rng(seed)
    prompts = r.integers(200, 1501, requests)
    answers = np.minimum(1 + r.exponential(299, requests).astype(int), MAX_ANSWER)
    return [
        Load(r.integers(0, 32_000, prompt).tolist(), int(answer))
        for prompt, answer in zip(prompts, answers, strict=True)
    ]


def drive(system: System, load: list[Load]) -> Timings:
    """Run `load` through `system`, at most `RUNNING` at a time, and time every call (appends by the step)."""
    admits, appends, frees = [], [], []
    waiting, running = deque(enumerate(load)), {}  # running: number -> tokens still to come
    while waiting or running:
        while waiting and len(running) < RUNNING:
            number, request = waiting.popleft()
            admits.append(_timed(system.admit, number, request.tokens))
            running[number] = request.answer
        append, start = system.append, perf_counter()
        for number in running:
            append(number)
        appends.append((perf_counter() - start) / len(running))
        for number in [number for number, left in running.items() if left == 1]:
            del running[number]
            frees.append(_timed(system.free, number))
        for number in running:
            running[number] -= 1
    return Timings(*(median(times) * 1e6 for times in (admits, appends, frees)))


def _timed(call: Callable[..., object], *args: object) -> float:
    start = perf_counter()
    call(*args)
    return perf_counter() - start


class Sharing(NamedTuple):
    """Microseconds per call of our own manager, where sequences share blocks."""

    fork: float
    copying_append: float
    plain_append: float


def sharing(prompt: int = 850, children: int = 8, calls: int = 200) -> Sharing:
    """A prompt of `prompt` tokens is forked `children` ways, and each child then appends its first token.

    All but the last owner copy the half-full block. plain_append: `append` right after, to the same sequences.
    """
    manager = BlockManager(NUM_BLOCKS, BLOCK_SIZE)
    forks, copies, appends = [], [], []
    for _ in range(calls):
        manager.admit("stem", prompt)
        forks.append(_timed(manager.fork, "stem", range(children)) / children)
        for child in range(children):
            copies.append(_timed(manager.append_cow, child))
        for child in range(children):
            appends.append(_timed(manager.append, child))
        for name in list(manager):
            manager.free(name)
    return Sharing(*(median(times) * 1e6 for times in (forks, copies, appends)))


SYSTEMS: dict[str, Callable[[], System]] = {"kvlab": Ours, "floor": Floor, "Hugging Face": HuggingFace}


def compare(requests: int = 1000, rounds: int = 5) -> dict[str, Timings]:
    """The median timings of each system that is installed, taking turns."""
    load, seen = make_load(requests), {name: [] for name in SYSTEMS}
    for _ in range(rounds):
        for name, make in SYSTEMS.items():
            try:
                system = make()
            except ImportError:
                continue
            seen[name].append(drive(system, load))
    return {name: Timings(*map(median, zip(*rows, strict=True))) for name, rows in seen.items() if rows}


def report(timings: dict[str, Timings]) -> str:
    """A table of microseconds, and of how many times more each system needs than kvlab."""
    lines = [f"{'us per call':14}{'admit':>10}{'append':>10}{'free':>10}{'x kvlab':>30}"]
    for name, row in timings.items():
        ratios = (theirs / mine for theirs, mine in zip(row, timings["kvlab"], strict=True))
        lines.append(
            f"{name:14}" + "".join(f"{us:10.2f}" for us in row) + "".join(f"{ratio:10.2f}" for ratio in ratios)
        )
    return "\n".join(lines)


def main() -> None:
    options = command.parser(__doc__, requests=1000, rounds=5).parse_args()
    timings = compare(options.requests, options.rounds)
    print(report(timings))
    shared = sharing()
    print(
        f"sharing: fork {shared.fork:.2f} us a child of 54 blocks, append with a copy {shared.copying_append:.2f}, "
        f"plain append {shared.plain_append:.2f}"
    )
    command.keep({name: row._asdict() for name, row in timings.items()} | {"sharing": shared._asdict()}, options.json)


if __name__ == "__main__":
    main()
