"""Requests simulated for each CPU second, step by step and in jumps, and whether both say the same.

    python -m tests.benchmarks.bench_simulate [--requests 2000] [--rounds 5] [--json PATH]

The load of the course's performance page: prompts U[200, 1500], answers 1 + Exp(299) <= 2,048, arriving independently
of each other, 6 a second, for the 8B assistant on an A100 80 GB. Step by step runs on the engine's `BlockManager`.
Then a load on courier is served and simulated, with a cost model calibrated on this machine.
"""

from __future__ import annotations

from statistics import median
from time import process_time

import numpy as np

from kvlab.memory import Trace, make_trace, poisson_arrivals
from kvlab.serve.simulate import simulate
from tests.benchmarks import command
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


def courier_beside_itself(requests: int = 60) -> tuple[float, float, int, int]:
    """Seconds measured and simulated, and steps taken and simulated, of one load on courier on this machine."""
    import torch

    from kvlab.models import load_courier
    from kvlab.serve.calibrate import calibrate
    from kvlab.serve.engine import Engine

    threads, r = torch.get_num_threads(), np.random.default_rng(3)
    torch.set_num_threads(1)
    try:
        model, _ = load_courier()
        cost = calibrate(model)
        pairs = [(int(r.integers(20, 160)), int(r.integers(5, 60))) for _ in range(requests)]
        measured = []
        for _ in range(3):  # the quickest counts, as in the calibration: what else runs here only makes it slower
            engine = Engine(model, 300, max_running=32, token_budget=256)
            for prompt, answer in pairs:
                engine.submit(r.integers(0, 1000, prompt).tolist(), answer, eos=())
            engine.run()
            measured.append(engine.step_seconds)
    finally:
        torch.set_num_threads(threads)
    trace = make_trace("courier", *zip(*pairs, strict=True))
    report = simulate(trace, capacity=300 * 16, cost=cost, max_running=32, token_budget=256)
    return min(measured), report.seconds, engine.steps, report.steps


def main(arguments: list[str] | None = None) -> None:
    options = command.parser(__doc__, requests=2000, rounds=5).parse_args(arguments)
    figures = measure(options.requests, options.rounds)
    for name, value in figures.items():
        print(f"{name:16}{value:10,.0f} requests a CPU second (at least {WANTED[name]:,} wanted)")
    measured, simulated, steps, planned = courier_beside_itself(60 if options.rounds > 1 else 12)
    figures["simulated over measured"] = simulated / measured
    print(
        f"courier here: {measured:.2f} s measured, {simulated:.2f} s simulated (within 20% wanted), {steps} steps both"
    )
    if steps != planned:
        raise RuntimeError(f"{steps} steps taken, {planned} simulated")
    command.keep(figures, options.json)


if __name__ == "__main__":
    main()
