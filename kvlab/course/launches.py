"""Exercises whose part is a Triton kernel: launches on small inputs, under the interpreter's bounds guard.

    class Copy(NamedTuple):          # one launch, in plain numbers
        n: int
        tile: int = 64

    def copied(value):               # torch is imported here, not above
        source = torch.arange(float(value.n))
        return Launch((-(-value.n // value.tile),), outputs={"target": source},
                      arguments={"source": source, "target": torch.full((value.n,), math.nan), "n": value.n,
                                 "TILE": value.tile})

    checks=(launched("whole tiles", copied, Copy(128), Copy(64)), launched("a ragged end", copied, Copy(100)))

Known mistakes are kernels too: `kvlab.course.interpreter.later`.
"""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kvlab.course import kernel_hunches
from kvlab.course.compare import TOLERANCE
from kvlab.course.declare import Traces, Wrong
from kvlab.course.interpreter import KernelFault, Window, Work, guarded
from kvlab.course.interpreter.explain import STEPS, explained
from kvlab.course.interpreter.launch import Grid, function_of
from kvlab.course.shorten import clip, show
from kvlab.course.source import name_of
from kvlab.errors import UsageError


@dataclass(frozen=True)
class Launch:
    """One launch and what it must leave behind.

    arguments: by the names of the finished kernel, in its order; every try gets copies, which share memory where these
    do. outputs: by name, what the kernel must have made of that argument; all other tensors must stay as they were.
    poisoned, shared: as for `guarded`. work: is given the loads and stores of a launch that was right, and may raise
    `Wrong`.
    """

    grid: Grid
    arguments: Mapping[str, Any]
    outputs: Mapping[str, Any]
    poisoned: tuple[str, ...] | None = None
    shared: tuple[str, ...] = ()
    work: Callable[[Work], None] | None = None


@dataclass(frozen=True)
class Launches(Traces):
    """What `launched` makes: a check that keeps `build`, so that the same launches can be tried on a GPU."""

    build: Callable[[Any], Launch] = field(kw_only=True)

    def prepare(self) -> None:
        """Builds every launch, which is remembered: what exists before a check forks need not be made in each fork."""
        for value in self.examples:
            self.build(value)


def launched(name: str, build: Callable[[Any], Launch], *values: Any, render: Callable[[Any], list[str]] | None = None,
             invariant: str | None = None, next: str | None = None) -> Launches:
    """A check that launches the learner's kernel for each of `values`. `build` makes the launch of one value, which
    must be hashable; `render` shows it in the verdict, by default as its repr."""
    built = functools.lru_cache(maxsize=64)(build)
    return Launches(name, None, lambda part, value: run(part, built(value)), examples=values, build=built,
                    render=render or (lambda value: [show(value, 100)]), invariant=invariant, next=next)


def run(part: Any, launch: Launch, runner: Callable[..., Any] = guarded, tolerance: float = 0.0) -> None:
    """Launches a kernel; `Wrong` if it is none, does what would fail on a GPU, or leaves other numbers.

    runner: launches it, by default under the interpreter's guard. tolerance: how far numbers may be off, relative and
    absolute; never less than what suits their dtype.
    """
    _launchable(part, launch)
    given = copy.deepcopy(dict(launch.arguments))
    try:
        work = runner(part, launch.grid, *given.values(), poisoned=launch.poisoned, shared=launch.shared)
    except KernelFault as fault:
        hunch = kernel_hunches.of_result(part)
        if hunch:
            raise Wrong(f"{fault.sentence} {hunch.says}", next=hunch.next, alike=hunch.says) from fault
        raise Wrong(fault.sentence, next=fault.next, alike=fault.alike) from fault
    except (RuntimeError, ValueError, TypeError, AssertionError) as error:
        sentence = explained(error)
        if sentence:
            raise Wrong(f"raised {type(error).__name__}. {sentence}", next=STEPS[sentence]) from error
        found = kernel_hunches.of_error(part, error)
        if found:
            raise Wrong(found[0], next=found[1].next, alike=found[1].says) from error
        raise
    got = {name: tensor_of(given[name]) for name in launch.outputs}
    for name, wanted in launch.outputs.items():
        apart = _apart(wanted, got[name], tolerance)
        if apart:
            written = _written(work, name, got[name], tensor_of(launch.arguments[name]))
            said = _difference(name, wanted, got[name], written, apart)
            raise _wrong_numbers(part, said, got, written, work if _is_nan(got[name], apart) else None)
    for name, before in launch.arguments.items():
        if name not in launch.outputs and hasattr(tensor_of(before), "data_ptr"):
            if not _unchanged(tensor_of(before), tensor_of(given[name])):
                raise Wrong(f"stores into {name}, expected it to be read alone.", alike=f"stores into {name}")
    if launch.work is not None and isinstance(work, Work):
        launch.work(work)


def tensor_of(value: Any) -> Any:
    """The tensor itself, for a `Window` the part of it that exists."""
    return value.tensor if isinstance(value, Window) else value


def _launchable(part: Any, launch: Launch) -> None:
    try:
        parameters = inspect.signature(function_of(part)).parameters
    except UsageError as refusal:
        sentence, _, advice = str(refusal).partition(": ")
        raise Wrong(f"{sentence.removeprefix(f'{name_of(part)} ')}.", next=advice) from None
    if len(parameters) != len(launch.arguments):
        taken, wanted = ", ".join(parameters), ", ".join(launch.arguments)
        raise Wrong(f"takes ({clip(taken, 80)}), but is launched with ({wanted}).",
                    next="keep the parameters as they were")


def _unchanged(before: Any, after: Any) -> bool:
    return bool(((before == after) | ((before != before) & (after != after))).all())


def _apart(wanted: Any, got: Any, tolerance: float) -> list[list[int]]:
    """The places at which two tensors differ by more than is allowed."""
    allowed = TOLERANCE.get(str(wanted.dtype).removeprefix("torch."), 0.0)
    allowed = max(allowed, tolerance if wanted.dtype.is_floating_point else 0.0)
    return (~got.double().isclose(wanted.double(), rtol=allowed, atol=allowed, equal_nan=True)).nonzero().tolist()


def _written(work: Any, name: str, got: Any, before: Any) -> Any:
    """Which elements of an argument were stored to; where nobody looked, those that are not as they were."""
    if isinstance(work, Work) and work.stored:
        places = work.written.get(name)
        marks = [0] * got.numel() if places is None else places.tolist()
        return got.new_tensor(marks).bool().as_strided(got.shape, got.stride())
    return ~((before == got) | ((before != before) & (got != got)))


def _is_nan(got: Any, apart: list[list[int]]) -> bool:
    return bool(got[tuple(apart[0])].isnan())


def _wrong_numbers(part: Any, said: str, got: dict[str, Any], written: Any, work: Any) -> Wrong:
    """The complaint about wrong numbers, with the reason where the kernel's text or its loads give it away."""
    hunch = kernel_hunches.of_result(part)
    if hunch:
        return Wrong(f"{said} {hunch.says}", next=hunch.next, alike=hunch.says)
    unfilled = getattr(work, "unfilled", None)
    if unfilled is not None and unfilled.number:
        stop = "" if unfilled.text.endswith(".") else "."
        return Wrong(f"{said} Masked lanes without `other` hold anything, in line {unfilled.number}: "
                     f"{clip(unfilled.text, 70)}{stop}",
                     next="give that load other=0.0", alike="a load without other")
    return Wrong(said, alike={**got, "written": written})


def _difference(name: str, wanted: Any, got: Any, written: Any, apart: list[list[int]]) -> str:
    """The first element that is wrong, and how many are."""
    place = tuple(apart[0])
    one, other = got[place].item(), wanted[place].item()
    count = f"{len(apart)} of {wanted.numel()} elements are wrong" if len(apart) > 1 else "it alone is wrong"
    held = f"is {_figure(one, other)}" if bool(written[place]) else "was never written"
    return f"{name}{[*place]} {held}, expected {_figure(other, one)}; {count}."


def _figure(number: Any, other: Any) -> str:
    if not isinstance(number, float):
        return str(number)
    digits = next((digits for digits in range(3, 9) if f"{number:.{digits}g}" != f"{other:.{digits}g}"), 9)
    return f"{number:.{digits}g}"
