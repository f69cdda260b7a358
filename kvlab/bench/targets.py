"""What our kernels are held to, and whether a run holds it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from .cases import Case
from .law import LAW, MUST, WRITE_RATE, applies_to
from .record import CONTIGUOUS, KERNEL, SDPA, Measurement, Run

TOLERANCE = 0.02  # of the largest number of a result: five times what bf16 rounds, none of the classic mistakes
ENOUGH = 500e6  # bytes of bf16 KV from which FP8 must pay
WRITE_TOKENS = 5120


class Target(NamedTuple):
    """words: what is wanted. held: cases that hold it, `of` so many. worst: the farthest from it, in words."""

    words: str
    held: int
    of: int
    worst: str

    @property
    def line(self) -> str:
        """The verdict in a sentence."""
        if not self.of:
            return f"{self.words}: not measured"
        return f"{self.words}: {self.held} of {self.of} ({self.worst})"


class _Ratio(NamedTuple):
    value: float  # at most 1 where the target is held
    case: Case


def targets(run: Run) -> list[Target]:
    """The targets in order; those in microseconds only for the device they are about."""
    found = [_target("the same result as PyTorch", _wrongness(run), "a difference of {:.2f} times what is allowed")]
    if applies_to(str(run.device["name"])):
        found += [
            _target(f"decode in {line.words}", _against(run, line.seconds), "{:.2f} of it")
            for line in (MUST, LAW)
        ]
        found.append(_target(f"writes of {WRITE_RATE / 1e12:g} TB/s", _writes(run), "{:.2f} of the time it may take"))
    found += [
        _target("pages of 16 within 5 % of 64", _pages(run), "{:.2f} of what is allowed"),
        _target("pages within 8 % of contiguous", _beside(run, CONTIGUOUS, 1.08), "{:.2f} of what is allowed"),
        _target("0.9 of SDPA on contiguous memory", _beside(run, SDPA, 1 / 0.9), "{:.2f} of what is allowed"),
        _target("FP8 1.6 times faster from 500 MB", _fp8(run), "{:.2f} of the time it may take"),
    ]
    return found


def _target(words: str, ratios: Iterable[_Ratio], form: str) -> Target:
    ratios = list(ratios)
    worst = max(ratios, key=lambda ratio: ratio.value, default=None)
    told = "" if worst is None else f"farthest: {form.format(worst.value)}, {worst.case.name}"
    return Target(words, sum(ratio.value <= 1 for ratio in ratios), len(ratios), told)


def _typical(run: Run) -> Iterator[Measurement]:
    """Decode in the shape that the published figures are of: 32:8 heads of 128, bf16, pages of 16."""
    for found in run.of("decode"):
        case = found.case
        if (case.heads, case.kv_heads, case.head_dim, case.block_size, case.dtype) == (32, 8, 128, 16, "bf16"):
            yield found


def _wrongness(run: Run) -> Iterator[_Ratio]:
    for found in run.measurements:
        if found.system in (KERNEL, CONTIGUOUS) and found.difference is not None:
            wrong = found.difference if found.difference == found.difference else float("inf")  # NaN
            yield _Ratio(wrong / TOLERANCE, found.case)


def _against(run: Run, seconds: Callable[[float], float]) -> Iterator[_Ratio]:
    return (_Ratio(found.spread.median / seconds(found.bytes), found.case) for found in _typical(run))


def _writes(run: Run) -> Iterator[_Ratio]:
    enough = (found for found in run.of("write") if found.case.tokens >= WRITE_TOKENS and found.case.dtype == "bf16")
    return (_Ratio(WRITE_RATE / found.rate, found.case) for found in enough)


def _pages(run: Run) -> Iterator[_Ratio]:
    for found in _typical(run):
        other = run.find(replace(found.case, block_size=64))
        if other is not None:
            yield _Ratio(found.spread.median / other.spread.median / 1.05, found.case)


def _beside(run: Run, system: str, allowed: float) -> Iterator[_Ratio]:
    for found in _typical(run):
        other = run.find(found.case, system)
        if other is not None:
            yield _Ratio(found.spread.median / other.spread.median / allowed, found.case)


def _fp8(run: Run) -> Iterator[_Ratio]:
    for found in _typical(run):
        other = run.find(replace(found.case, dtype="fp8"))
        if other is not None and found.bytes >= ENOUGH:
            yield _Ratio(1.6 * other.spread.median / found.spread.median, found.case)
