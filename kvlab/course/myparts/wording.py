"""What is said of a call of a learner's part: what it raised, and how what came of it is not what it must be."""

from __future__ import annotations

from typing import Any

from kvlab.course.compare import difference, is_plain, is_tensor, same
from kvlab.course.myparts.watch import TooLong
from kvlab.course.observe import attempt, raised
from kvlab.course.shorten import clip, parameters, show


def said(error: BaseException) -> str:
    """What a learner is told of what a call raised."""
    if isinstance(error, NameError) and not isinstance(error, UnboundLocalError):
        return f"{raised(error)} (what is saved is the exercise alone: put helpers inside it)"
    return str(error) if isinstance(error, TooLong) else raised(error).rstrip(".")


def wrong_answer(wanted: Any, refusal: BaseException | None, got: Any, error: BaseException | None) -> str:
    """What is wrong with an answer, or an empty string."""
    if error is not None:
        if refusal is not None and isinstance(error, type(refusal)):
            return ""
        return f"{said(error)}, expected {type(refusal).__name__ if refusal else show(wanted, 60)}."
    if refusal is not None:
        return f"returned {show(got, 60)}, expected it to raise {type(refusal).__name__}."
    if same(wanted, got):
        return ""
    return f"{tensor_difference(wanted, got) or clip(str(attempt(lambda: difference(wanted, got))[0]), 250)}."


def changed(finished: Any, before: tuple[Any, ...], after: list[Any]) -> str:
    """The sentence for an argument that the call has changed, or an empty string."""
    names = parameters(finished, len(before)) or [f"number {place + 1}" for place in range(len(before))]
    for name, one, other in zip(names, before, after, strict=True):
        if not is_tensor(one) and is_plain(one) and not same(one, other):
            return f"changed its argument {name} to {show(other, 50)}, expected it to be left alone."
    return ""


def tensor_difference(wanted: Any, got: Any) -> str:
    """How a tensor differs from the one expected; empty where neither is one."""
    if not is_tensor(wanted):
        return ""
    if not is_tensor(got):
        return f"returned {show(got, 60)}, expected a tensor {tuple(wanted.shape)}"
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return f"returned {got.dtype} {tuple(got.shape)}, expected {wanted.dtype} {tuple(wanted.shape)}"
    wide, other = wanted.double(), got.double()
    apart = (~other.isclose(wide, rtol=1e-4, atol=1e-4, equal_nan=True)).nonzero().tolist()
    if not apart:
        return ""
    place = tuple(apart[0])
    return (f"returned numbers of which {len(apart)} of {wanted.numel()} are wrong: at {list(place)} "
            f"{other[place].item():.4g}, expected {wide[place].item():.4g}")
