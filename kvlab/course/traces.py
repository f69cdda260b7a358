"""Looks for the shortest trace of operations on which a part goes wrong. Hypothesis makes the traces up and shrinks
them."""

from __future__ import annotations

import copy
import os
import random
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kvlab.course.declare import Traces
from kvlab.course.observe import Probe, Seen, run_probe
from kvlab.course.shorten import show
from kvlab.course.tape import Tape

EXAMPLES = 150  # traces that are tried
BUDGET = 0.9  # seconds of processor time in which they are tried and shrunk


class _Enough(BaseException):
    """Time for looking is over; the shortest failing trace so far counts."""


def trace_probe(check: Traces, name: str, value: Any) -> Probe:
    """The probe that runs one value of `check`."""
    return run_probe(check, name, (value,), lambda: rendered(check, name, value))


def search(check: Traces, name: str, part: Any, tape: Tape, least: int = 0) -> tuple[Probe, Seen] | None:
    """The shortest value found on which `part` goes wrong, with what was seen, or None if it stood all of them.

    The same values in the same order each time. Code that goes wrong only now and then is wrong if it was once.
    least: so many traces are tried whatever they cost, if none fails; a part that makes its checker work could use the
    budget up.
    """
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", os.path.join(tempfile.gettempdir(), "kvlab-hypothesis"))
    from hypothesis import Phase, find, settings
    from hypothesis.errors import NoSuchExample
    from hypothesis.strategies import SearchStrategy

    failing: list[tuple[Probe, Seen]] = []
    tried = 0
    until = time.thread_time() + BUDGET  # of the processor's time, so that a busy machine finds the same trace

    def fails(value: Any) -> bool:
        nonlocal tried
        if time.thread_time() > until and (failing or tried >= least):
            raise _Enough
        tried += 1
        probe = trace_probe(check, name, copy.deepcopy(value))
        seen = probe.see(part, tape)
        if not seen.right:
            failing.append((probe, seen))
        return not seen.right

    strategy = check.make if isinstance(check.make, SearchStrategy) else check.make()
    plain = settings(max_examples=EXAMPLES, deadline=None, database=None, phases=(Phase.generate, Phase.shrink))
    try:
        with _no_local_constants():
            find(strategy, fails, random=random.Random(0), settings=plain)
    except (_Enough, NoSuchExample):
        pass
    except Exception:  # Hypothesis on code that fails now and then; without a failure, a strategy that makes nothing
        if not failing:
            raise
    return failing[-1] if failing else None


@contextmanager
def _no_local_constants() -> Iterator[None]:
    """Keeps Hypothesis from reading every module of the project for interesting numbers: that takes its time, and makes
    the traces depend on what else is loaded. Where this private hook is gone, they do."""
    from hypothesis.internal.conjecture import providers

    hook = getattr(providers, "_get_local_constants", None)
    if hook is None:
        yield
        return
    nothing = providers.Constants()
    providers._get_local_constants = lambda: nothing
    try:
        yield
    finally:
        providers._get_local_constants = hook


def rendered(check: Traces, name: str, value: Any) -> list[str]:
    """The trace as Python lines: by the check's own `render`, or as constructor and method calls, or as its repr."""
    try:
        return [str(line) for line in (check.render or (lambda given: _as_calls(name, given)))(value)]
    except Exception:
        return [show(value, 100)]


def _as_calls(name: str, value: Any) -> list[str]:
    arguments, operations = value
    made = arguments if isinstance(arguments, tuple) else (arguments,)
    lines = [f"p = {name}({', '.join(map(show, made))})"]
    return lines + [f"p.{method}({', '.join(map(show, args))})" for method, *args in operations]
