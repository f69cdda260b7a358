"""Whether a learner's result is the expected one, whatever type it is and however its `__eq__` behaves.

What counts as equal:
- an int is expected: an int or numpy integer of that value. Not 2.0, which is no index, and not True.
- a float is expected: any number (no bool) within 1e-9 of it, relative. NaN equals NaN.
- a bool is expected: a bool or numpy bool.
- a tuple is expected: a tuple or list of equal items. A list is expected: a list.
- an array is expected: an array of that shape and kind (integers, floats), floats within 1e-6.
- a torch tensor is expected: a tensor of that shape and dtype, floats within a tolerance that fits the dtype.
- anything else: the same type, and `expected == got` says True.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from kvlab.course.guard import Stop
from kvlab.course.shorten import show, with_article

_PLAIN = (type(None), bool, int, float, complex, str, bytes, np.generic, np.ndarray)
TOLERANCE = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-4, "float64": 1e-9}


def same(expected: Any, got: Any) -> bool:
    """Whether `got` is what was expected, by the rules above. Never raises, whatever `got` does when compared."""
    try:
        return _same(expected, got)
    except Stop:
        raise
    except BaseException:
        return False


def _same(expected: Any, got: Any) -> bool:
    if isinstance(expected, np.generic):
        expected = expected.item()
    if isinstance(got, np.generic):
        got = got.item()
    if expected is None or got is None:
        return expected is got
    if isinstance(expected, (bool, int, float)):
        return _same_number(expected, got)
    if isinstance(expected, str):
        return isinstance(got, str) and str.__eq__(expected, got) is True
    if isinstance(expected, np.ndarray):
        return _same_array(expected, got)
    if is_tensor(expected):
        return _same_tensor(expected, got)
    return _same_container(expected, got)


def _same_number(expected: bool | int | float, got: Any) -> bool:
    if isinstance(expected, bool) or isinstance(got, bool):
        return isinstance(got, bool) and isinstance(expected, bool) and expected is got
    if isinstance(expected, int):
        return isinstance(got, int) and int.__eq__(expected, int.__index__(got)) is True
    if not isinstance(got, (int, float)):
        return False
    if math.isnan(expected):
        return math.isnan(got)
    return math.isclose(expected, got, rel_tol=1e-9, abs_tol=1e-12)


def _same_array(expected: np.ndarray, got: Any) -> bool:
    if not isinstance(got, np.ndarray) or expected.shape != got.shape or expected.dtype.kind != got.dtype.kind:
        return False
    if expected.dtype.kind == "f":
        return bool(np.allclose(expected, got, rtol=1e-6, atol=1e-9, equal_nan=True))
    return bool(np.array_equal(expected, got))


def is_tensor(value: Any) -> bool:
    """Whether `value` is a torch tensor. Asked without importing torch: where there is a tensor, torch is loaded."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _same_tensor(expected: Any, got: Any) -> bool:
    if not is_tensor(got) or expected.shape != got.shape or expected.dtype != got.dtype:
        return False
    tolerance = TOLERANCE.get(str(expected.dtype).removeprefix("torch."), 0.0)
    wide, other = expected.detach().cpu().double(), got.detach().cpu().double()
    return bool(wide.allclose(other, rtol=tolerance, atol=tolerance, equal_nan=True))


def _same_container(expected: Any, got: Any) -> bool:
    if isinstance(expected, (list, tuple)):
        allowed = (list, tuple) if isinstance(expected, tuple) else list
        return (isinstance(got, allowed) and len(expected) == len(got)
                and all(same(one, other) for one, other in zip(expected, got, strict=True)))
    if isinstance(expected, dict):
        return (isinstance(got, dict) and expected.keys() == got.keys()
                and all(same(expected[key], got[key]) for key in expected))
    if isinstance(expected, (set, frozenset)):
        return isinstance(got, (set, frozenset)) and expected == got
    return type(expected) is type(got) and (expected is got or (expected == got) is True)


def is_plain(value: Any) -> bool:
    """Whether `value` is plain data, which can be compared before and after a call."""
    if isinstance(value, (list, tuple, set, frozenset)):
        return all(is_plain(item) for item in value)
    if isinstance(value, dict):
        return all(is_plain(key) and is_plain(item) for key, item in value.items())
    return isinstance(value, _PLAIN) or is_tensor(value)


def difference(expected: Any, got: Any) -> str:
    """How a wrong result differs: "returned 3, expected 2", with the types where they matter and the place in a long
    list."""
    place = _first_difference(expected, got)
    if place is not None:
        index, one, other = place
        return f"returned {show(got, 60)}, whose item [{index}] is {show(other, 30)}, expected {show(one, 30)}"
    if _kind(expected) != _kind(got):
        kinds = with_article(type(got)), with_article(type(expected))
        return f"returned {show(got)} ({kinds[0]}), expected {show(expected)} ({kinds[1]})"
    if hasattr(expected, "__len__") and not isinstance(expected, str) and len(expected) != len(got):
        count = f"{len(got)} item{'s' * (len(got) != 1)}"
        return f"returned {count}, {show(got, 70)}, expected {len(expected)}: {show(expected, 70)}"
    exact = show(got) == show(expected)
    return f"returned {show(got, exact=exact)}, expected {show(expected, exact=exact)}"


def wrong_type(expected: Any, got: Any) -> str | None:
    """What to return instead, if `got` is of another type than expected: "return an int". None if the type is right, or
    if it is a number of another kind that is wrong as a value too."""
    try:
        if isinstance(expected, list) and isinstance(got, (tuple, np.ndarray)):
            return "return a list" if same(expected, list(got)) else None
        if isinstance(expected, list) and isinstance(got, list) and _floats_for_ints(expected, got):
            return "return whole numbers: // gives an int, / a float"
        if isinstance(expected, bool) or _kind(expected) is _kind(got):
            return None
        if isinstance(expected, (int, float)) and isinstance(got, (int, float)) and not isinstance(got, bool):
            wrong = isinstance(expected, float) or not math.isclose(expected, got)
            return None if wrong else "return an int: // and math.ceil() give one"
    except Stop:
        raise
    except BaseException:
        pass
    return f"return {with_article(type(expected))}"


def _floats_for_ints(expected: list[Any], got: list[Any]) -> bool:
    pairs = zip(expected, got, strict=False)
    return len(expected) == len(got) > 0 and all(
        isinstance(one, int) and isinstance(other, float) and one == other for one, other in pairs)


def _kind(value: Any) -> type:
    value = value.item() if isinstance(value, np.generic) else value
    return list if isinstance(value, tuple) else frozenset if isinstance(value, set) else type(value)


def _first_difference(expected: Any, got: Any) -> tuple[int, Any, Any] | None:
    """Where two sequences of equal length, too long to be shown whole, first differ: (index, expected, got)."""
    if not isinstance(expected, (list, tuple, np.ndarray)) or not isinstance(got, (list, tuple, np.ndarray)):
        return None
    if _kind(expected) != _kind(got) or len(expected) != len(got) or len(expected) <= 8 or np.ndim(expected) > 1:
        return None
    pairs = enumerate(zip(expected, got, strict=True))
    return next(((index, one, other) for index, (one, other) in pairs if not same(one, other)), None)
