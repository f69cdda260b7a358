"""What counts as the same result, and how a difference is said."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from kvlab.course.compare import difference, is_plain, same
from kvlab.course.shorten import clip, show

SAME = [
    (1, 1), (1, np.int32(1)), (np.int64(1), 1), (1.0, 1), (0.1 + 0.2, 0.3), (1.5, np.float32(1.5)),
    (True, np.bool_(True)), (None, None), ("a", "a"), ((1, 2), [1, 2]), ([(0, 1)], [[0, 1]]), ({"a": [1]}, {"a": [1]}),
    ({1, 2}, frozenset({1, 2})), (np.array([1, 2]), np.array([1, 2], dtype=np.int32)), (float("nan"), float("nan")),
    (float("inf"), float("inf")), (np.array([0.5, np.nan]), np.array([0.5 + 1e-9, np.nan])), (range(3), range(3)),
]
DIFFERENT = [
    (1, True), (1, 1.0), (0, False), (0, None), (True, 1), (1, "1"), (1, 2), (1.0, True), (1.0, 1.001), ([1], (1,)),
    ([1], np.array([1])), ([1, 2], [1]), ({"a": 1}, [("a", 1)]), ({1}, [1]), (None, 0), ("a", b"a"),
    (range(3), [0, 1, 2]), (np.array([1, 2]), [1, 2]), (np.array([1, 2]), np.array([1.0, 2.0])),
    (np.zeros(2), np.zeros((2, 1))), (1, 1 + 0j), (3, [3]), ((1, 2), {1: 0, 2: 0}), (1, np.array([1, 1])),
    (float("nan"), 1.0),
]


@pytest.mark.parametrize("expected, got", SAME)
def test_these_are_the_same(expected, got):
    assert same(expected, got)


@pytest.mark.parametrize("expected, got", DIFFERENT)
def test_these_are_not(expected, got):
    assert not same(expected, got)
    assert difference(expected, got).startswith("returned ")


def test_tensors_are_compared_by_shape_kind_and_a_tolerance_without_importing_torch(monkeypatch):
    class Tensor:
        """As much of a tensor as the comparison touches."""

        def __init__(self, values, dtype="torch.float16"):
            self.values, self.dtype, self.shape = np.array(values, dtype=float), dtype, np.shape(values)

        def detach(self):
            return self

        cpu = double = detach

        def allclose(self, other, rtol, atol, equal_nan):
            return np.allclose(self.values, other.values, rtol=rtol, atol=atol, equal_nan=equal_nan)

    assert not same(Tensor([1.0]), Tensor([1.0]))
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(Tensor=Tensor))
    assert same(Tensor([1.0]), Tensor([1.001])) and not same(Tensor([1.0]), Tensor([1.01]))
    assert not same(Tensor([1.0], "torch.float64"), Tensor([1.001], "torch.float64"))
    assert not same(Tensor([1.0]), Tensor([[1.0]])) and not same(Tensor([1.0]), Tensor([1.0], "torch.float32"))
    assert not same(Tensor([1.0]), [1.0]) and is_plain([Tensor([1.0])])


DIFFERENCES = [
    (2, 3, "returned 3, expected 2"),
    (2, 2.0, "returned 2.0 (a float), expected 2 (an int)"),
    (2, True, "returned True (a bool), expected 2 (an int)"),
    ([1], np.array([1]), "returned array([1]) (a numpy array), expected [1] (a list)"),
    (0.1, 0.10000000001, "returned 0.10000000001, expected 0.1"),
    (0.796875, 0.7351190476190476, "returned 0.73511905, expected 0.796875"),
    ([1, 2], [1], "returned 1 item, [1], expected 2: [1, 2]"),
    ([1, 2], [], "returned 0 items, [], expected 2: [1, 2]"),
    (list(range(100)), [*range(99), 0], "returned [0, 1, 2, 3, 4, 5, 6, 7, ...], whose item [99] is 0, expected 99"),
]


@pytest.mark.parametrize("expected, got, text", DIFFERENCES)
def test_a_difference_is_said_exactly(expected, got, text):
    assert difference(expected, got) == text


@pytest.mark.parametrize("value, text", [
    (np.int64(3), "3"), (np.float32(0.5), "0.5"), ([np.int64(3)], "[3]"), (object(), "<object object>"), (dict, "dict"),
    (len, "len"), (float("nan"), "nan"), (np.arange(3), "array([0, 1, 2])"),
    (np.zeros((100, 100)), "array of shape (100, 100): 0.0, 0.0, 0.0, 0.0, ..."),
    ("x" * 500, "'" + "x" * 17 + "..." + "x" * 18 + "'"),
    (list(range(10**6)), "[0, 1, 2, 3, 4, 5, 6, 7, ...]"), ("a\nb\x1b", r"'a\nb\x1b'")])
def test_values_are_shown_short(value, text):
    assert show(value) == text


def test_a_huge_number_is_shown_by_its_size():
    assert show(10**5000) == "a whole number of 16610 bits"


def test_text_is_clipped_to_a_line_that_can_be_printed():
    assert clip("one\ntwo\x00 \x1b[31m three at 0x7f3a9c", 60) == "one two? ?[31m three"
    assert clip("x" * 100, 20) == "x" * 16 + " ..." and len(clip("x " * 100, 20)) <= 20
