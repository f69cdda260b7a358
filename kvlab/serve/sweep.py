"""Many simulations at once: every combination of what is to be compared, on all cores, or on a Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import product
from typing import Any, NamedTuple

from kvlab.errors import UsageError
from kvlab.memory import Trace

from .report import Report
from .simulate import simulate


class Point(NamedTuple):
    """One simulation to run: how its trace is made, from a seed, and the options of `simulate`."""

    make: Callable[[int], Trace]
    seed: int
    options: dict[str, Any]


class Result(NamedTuple):
    """What was varied, and what came out."""

    setting: dict[str, Any]
    report: Report

    def row(self) -> dict[str, Any]:
        """Both in one flat row, for a table."""
        return self.setting | self.report.numbers()


def run_point(point: Point) -> Report:
    """Run one simulation. A plain function of plain values, so that any process on any machine can."""
    return simulate(point.make(point.seed), **point.options)


def sweep(
    make: Callable[[int], Trace],
    grid: Mapping[str, Sequence[Any]],
    *,
    seeds: Iterable[int] = (0,),
    client: Any = None,
    workers: int | None = None,
    progress: bool = True,
    **options: Any,
) -> list[Result]:
    """Simulate every combination of the `grid` for every seed; results in the order of the grid, the seed last.

    make: a function at the top of a module that makes the trace of a seed. grid: options of `simulate`, each with the
    values to try; `options` are the same for all. workers: processes, by default one a core; 1 runs in this one.
    client: a `dask.distributed.Client`, whose cluster runs them instead (`pip install kvlab[cluster]`). progress: a
    bar, if tqdm is there. An option both in the grid and beside it raises `UsageError`.
    """
    twice = grid.keys() & options.keys()
    if twice:
        raise UsageError(f"{', '.join(sorted(twice))} cannot be both varied and fixed")
    settings = [dict(zip((*grid, "seed"), values, strict=True)) for values in product(*grid.values(), list(seeds))]
    points = [Point(make, setting["seed"], options | {key: setting[key] for key in grid}) for setting in settings]
    found: dict[int, Report] = {}
    for number, report in _bar(_run(points, client, workers), len(points), progress):
        found[number] = report
    return [Result(setting, found[number]) for number, setting in enumerate(settings)]


def _run(points: list[Point], client: Any, workers: int | None) -> Iterator[tuple[int, Report]]:
    """The number of each point and its report, as they get ready."""
    if client is not None:
        from dask.distributed import as_completed as dask_as_completed

        sent = client.map(run_point, points, pure=False)
        places = {future.key: number for number, future in enumerate(sent)}
        for future, report in dask_as_completed(sent, with_results=True):
            yield places[future.key], report
        return
    workers = min(workers or os.cpu_count() or 1, len(points))
    if workers <= 1:
        yield from ((number, run_point(point)) for number, point in enumerate(points))
        return
    with ProcessPoolExecutor(workers) as pool:
        numbers = {pool.submit(run_point, point): number for number, point in enumerate(points)}
        for future in as_completed(numbers):
            yield numbers[future], future.result()


def _bar(results: Iterator[tuple[int, Report]], total: int, progress: bool) -> Iterable[tuple[int, Report]]:
    if not progress:
        return results
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return results
    return tqdm(results, total=total, desc="simulations")
