"""What travels between a learner's process and the checks: as it was, and never more than data."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvlab.course.grade.connection import ERRORS, KINDS
from kvlab.course.grade.far.wire import Opaque, Unreadable, Wire
from kvlab.errors import OutOfBlocks, OutOfMemory
from kvlab.memory import CachedBlock, RadixNode


def pair() -> tuple[Wire, Wire]:
    """The two ends of a wire."""
    one, other = (Wire(first, KINDS, ERRORS, lambda value: None, lambda text: Opaque(text[0])) for first in (0, 1))
    return one, other


def sent(value, here=None, there=None):
    """A value after its way over, as JSON."""
    first, second = pair() if here is None else (here, there)
    return second.unpack(json.loads(json.dumps(first.pack(value))))


FLOATS = st.floats(allow_nan=False, allow_subnormal=False)  # a library of another test may have switched those off
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | FLOATS | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.tuples(inner, inner)
    | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=3), max_leaves=12)


@settings(max_examples=60, deadline=None)
@given(PLAIN)
def test_plain_values_arrive_as_they_were(value):
    got = sent(value)
    assert got == value and repr(got) == repr(value)


@settings(max_examples=120, deadline=None)
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_subnormal=False) | st.sampled_from(
    ["#", "list", "tensor", "storage", "error", "there", "named", "generator", "array", "<O", "object", "RadixNode",
     "0", "int", "__class__", "numpy generator"]), lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.sampled_from(["value", "contents", "0", "1", "3"]), inner, max_size=3), max_leaves=15))
def test_whatever_comes_is_data_or_unreadable(message):
    try:
        pair()[0].unpack(message)
    except Unreadable:
        pass


def test_what_one_side_changes_in_place_changes_on_the_other():
    here, there = pair()
    table, grid = [1, 2], np.zeros(3)
    far = sent((table, grid, table), here, there)
    assert far[0] is far[2]
    far[0].append(3)
    far[1][1] = 5
    back = sent(far[0], there, here)
    assert back is table and table == [1, 2, 3] and grid.tolist() == [0, 5, 0]


def test_tensors_share_their_memory_over_there_too():
    torch = pytest.importorskip("torch")
    here, there = pair()
    pool = torch.zeros(4, 2)
    far_pool, far_row = sent((pool, pool[1]), here, there)
    far_row += 7
    sent(None, there, here)
    assert pool.tolist() == [[0, 0], [7, 7], [0, 0], [0, 0]] and far_pool[1].tolist() == [7, 7]
    eight = torch.tensor([1.5, math.inf]).to(torch.float8_e4m3fn)
    assert sent(eight).view(torch.uint8).tolist() == eight.view(torch.uint8).tolist()


def test_a_tree_keeps_its_shape_and_its_nodes():
    here, there = pair()
    root = RadixNode()
    child = RadixNode([1, 2], [7, 8], root)
    root.children[1] = child
    far = sent(root, here, there)
    assert far.children[1].parent is far and far.children[1].tokens == [1, 2]
    far.children[1].slots[0] = 9
    assert sent(far.children[1], there, here) is child and child.slots == [9, 8]
    assert sent(CachedBlock(1, None, 0, 2.5)) == CachedBlock(1, None, 0, 2.5)


def test_errors_arrive_as_the_first_known_kind_with_their_numbers():
    got = sent(OutOfMemory(5, 3, 2))
    assert type(got) is OutOfMemory and (got.needed, got.free, got.largest) == (5, 3, 2)

    class Mine(OutOfBlocks):
        pass

    assert type(sent(Mine(1, 0))) is OutOfBlocks
    assert all(isinstance(sent(one), Exception) for one in (SystemExit(0), KeyboardInterrupt(), GeneratorExit()))


def test_what_has_no_place_here_is_equal_to_nothing():
    class Liar:
        def __eq__(self, other):
            return True

        __hash__ = None

    got = sent([Liar(), lambda: 0, object])
    assert all(type(one) is Opaque and one != 0 and one != got[1 - place] for place, one in enumerate(got[:2]))


def test_too_deep_and_too_much_are_refused():
    deep = [1]
    for _ in range(100):
        deep = ["tuple", [deep]]
    with pytest.raises(Unreadable):
        pair()[0].unpack({"value": deep, "contents": {}})
    with pytest.raises(Unreadable):
        pair()[0].unpack({"value": ["tuple", [1] * 500_000], "contents": {}})
