"""What the bounds guard costs: launches under guard beside plain ones in Triton's interpreter.

python -m tests.benchmarks.bench_guard [--rounds 7] [--json PATH]

The two take turns within each round, since only ratios within one run mean anything; a figure is the median over
rounds, in milliseconds of processor time. Below 2 is wanted; where a kernel calls helpers of Triton's own (tl.max,
tl.sum), the guard is the faster one, since it patches the language once a launch and not once a call.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import process_time
from typing import Any, NamedTuple

import kvlab  # noqa: F401  (first: it chooses Triton's interpreter)

import torch  # isort: skip
from kvlab.course.interpreter import guarded  # isort: skip
from tests.course.interpreter import kernels  # isort: skip
from tests.benchmarks import command


class Load(NamedTuple):
    """One launch: the kernel, its grid and arguments."""

    kernel: Any
    grid: tuple[int, ...]
    arguments: tuple[Any, ...]


def loads() -> dict[str, Load]:
    """Small and large launches, and one that calls Triton's own helpers."""
    numbers, scores = torch.ones(64 * 16_384 - 5), torch.ones(8, 200)
    copied = torch.zeros_like(numbers)
    pool, table = torch.ones(64, 512), torch.arange(40, dtype=torch.int32)
    return {
        "copy, 2 tiles of 64": Load(kernels.copy, (2,), (torch.ones(100), torch.zeros(100), 100, 64)),
        "copy, 64 tiles of 16,384": Load(kernels.copy, (64,), (numbers, copied, len(numbers), 16_384)),
        "gather, 40 blocks of 512": Load(kernels.gather, (40,), (pool, table, torch.zeros(40, 512), 512, 512)),
        "online softmax, 8 rows of 200": Load(kernels.online_softmax, (8,), (scores, torch.zeros(8), 200, 64)),
    }


def milliseconds(call: Callable[[], Any]) -> float:
    """Processor time of one call."""
    started = process_time()
    call()
    return (process_time() - started) * 1e3


def measure(load: Load, rounds: int) -> tuple[float, float]:
    """(plain, guarded), after one round that does not count."""
    times = []
    for _ in range(rounds + 1):
        plain = milliseconds(lambda: load.kernel[load.grid](*load.arguments))
        times.append((plain, milliseconds(lambda: guarded(load.kernel, load.grid, *load.arguments))))
    return median(one for one, _ in times[1:]), median(other for _, other in times[1:])


def main() -> None:
    """Prints a table, and writes the figures as JSON if asked."""
    options = command.parser(__doc__, rounds=7).parse_args()
    figures = {}
    print(f"{'milliseconds a launch':32} {'plain':>8} {'guarded':>8} {'ratio':>6}")
    for name, load in loads().items():
        plain, ours = measure(load, options.rounds)
        figures[name] = {"plain": plain, "guarded": ours}
        print(f"{name:32} {plain:8.2f} {ours:8.2f} {ours / plain:6.2f}")
    command.keep(figures, options.json)


if __name__ == "__main__":
    main()
