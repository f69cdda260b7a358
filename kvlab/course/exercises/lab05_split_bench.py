"""The bench for `split_kv`: any even cut at blocks is right."""

from __future__ import annotations

from typing import Any

from kvlab.course.declare import Wrong
from kvlab.course.shorten import show

Value = tuple[int, int, int]


def run(part: Any, value: Value) -> None:
    """Calls the learner's function; `Wrong` with what it returned and why that is no even cut."""
    got = part(*value)
    try:
        _legal(*value, _pairs(got))
    except Wrong as trouble:
        raise Wrong(f"returned {show(got, 60)}: {trouble}", next=trouble.next, alike=got) from None


def _pairs(got: Any) -> list[tuple[int, int]]:
    if got is None:
        raise Wrong("a list of (start, end) is expected; is a `return` missing?", next="return the list")
    if not isinstance(got, list) or not all(isinstance(part, (list, tuple)) and len(part) == 2 for part in got):
        raise Wrong("that is no list of pairs (start, end).", next="return a list of pairs of whole numbers")
    edges = [edge for part in got for edge in part]
    if not all(hasattr(edge, "__index__") and not isinstance(edge, bool) for edge in edges):
        raise Wrong("starts and ends are whole numbers.", next="divide with // in place of /")
    return [(int(start), int(end)) for start, end in got]


def _legal(num_tokens: int, num_splits: int, block_size: int, parts: list[tuple[int, int]]) -> None:
    at, blocks = 0, -(-num_tokens // block_size)
    for start, end in parts:
        if start != at:
            raise Wrong(f"a part begins at token {start}, expected {at}, where the one before it ends.")
        if end <= start:
            raise Wrong(f"({start}, {end}) holds no token.", next="make no more parts than there are blocks")
        if start % block_size:
            raise Wrong(f"token {start} lies inside a block of {block_size}, which two parts would have to read.",
                        next="count in blocks, and multiply by block_size at the end")
        at = end
    if at != num_tokens:
        raise Wrong(f"the last part ends at token {at}, expected {num_tokens}.")
    if len(parts) != min(num_splits, blocks):
        count = f"{len(parts)} part{'s' * (len(parts) != 1)}, expected {min(num_splits, blocks)}"
        raise Wrong(f"{count}: {blocks} blocks, {num_splits} splits wanted.")
    _even([-(-end // block_size) - start // block_size for start, end in parts])


def _even(held: list[int]) -> None:
    if held and max(held) - min(held) > 1:
        says = f"parts of {', '.join(map(str, held))} blocks, expected them to differ by at most one."
        raise Wrong(says, next="let part i begin at block i * blocks // parts")


def render(value: Value) -> list[str]:
    """The call."""
    return ["split_kv(num_tokens={}, num_splits={}, block_size={})".format(*value)]


def random_contexts() -> Any:
    """A Hypothesis strategy for calls."""
    from hypothesis import strategies as st

    return st.tuples(st.integers(0, 60), st.integers(1, 9), st.integers(1, 16))
