"""Requests simulated for each CPU second, step by step and in jumps, and whether both say the same.

    python -m tests.benchmarks.bench_simulate [--requests 2000] [--rounds 5] [--json PATH]

The load of the course's performance page: prompts U[200, 1500], answers 1 + Exp(299) <= 2,048, arriving independently
of each other, 6 a second, for the 8B assistant on an A100 80 GB. Step by step runs on the engine's `BlockManager`.
"""

from __future__ import annotations

import argparse
import json
from statistics import median
from time import process_time

from kvlab.memory import Trace, make_trace, poisson_arrivals
from kvlab.serve.simulate import simulate
from tests.benchmarks.bench_scheduler import lengths

WANTED = {"step by step": 3_000, "in jumps": 30_000}


def load(requests: int, seed: int = 0) -> Trace:
    """The load, the same on every machine."""
    return poisson_arrivals(make_trace("load", *zip(*lengths(requests, seed), strict=True)), 6.0, seed)


def measure(requests: int, rounds: int) -> dict[str, float]:
    """Medians of requests a CPU second; raises if both modes do not report the same."""
    trace, seen = load(requests), {name: [] for name in WANTED}
    for _ in range(rounds):
        reports = []
        for name in seen:
            began = process_time()
            reports.append(simulate(trace, jump=name == "in jumps"))
            seen[name].append(requests / (process_time() - began))
        if reports[0] != reports[1]:
            raise RuntimeError("the two modes do not agree")
    return {name: median(values) for name, values in seen.items()}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", help="also write the figures to this file")
    options = parser.parse_args(arguments)
    figures = measure(options.requests, options.rounds)
    for name, value in figures.items():
        print(f"{name:16}{value:10,.0f} requests a CPU second (at least {WANTED[name]:,} wanted)")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(figures, file, indent=1)


if __name__ == "__main__":
    main()
