"""The linked list beside a plain Python list."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvlab.errors import InvariantBroken
from kvlab.memory import LRUList


@given(st.lists(st.tuples(st.sampled_from(["push", "pop", "remove"]), st.integers(0, 7)), max_size=60))
def test_it_keeps_the_order_of_use_whatever_is_taken_out(steps: list[tuple[str, int]]) -> None:
    links, model = LRUList(8), []
    for step, block in steps:
        if step == "push" and block not in model:
            links.push(block)
            model.append(block)
        elif step == "pop" and model:
            assert links.pop() == model.pop(0)
        elif step == "remove" and block in model:
            links.remove(block)
            model.remove(block)
        links.check()
        assert list(links) == model
        assert len(links) == len(model)


def test_a_ring_that_never_closes_is_found_out() -> None:
    links = LRUList(4)
    for block in (0, 1, 2):
        links.push(block)
    links._next[2], links._prev[0] = 0, 2  # a ring of three that leaves the sentinel out
    with pytest.raises(InvariantBroken, match="links"):
        links.check()
