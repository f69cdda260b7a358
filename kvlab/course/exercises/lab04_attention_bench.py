"""The bench for `paged_attention`: flattened batches over shuffled blocks, and dense attention of what was written."""

from __future__ import annotations

import functools
import inspect
from typing import Any, NamedTuple

from kvlab.course.declare import Wrong
from kvlab.course.exercises.lab04_tensors import (
    STALE,
    Pages,
    apart,
    clone,
    dense,
    figures,
    is_tensor,
    shuffled_tables,
    torch,
    unchanged,
)

_OPTIONS = ", window=None, softcap=None, sinks=None"  # of other models; courier has none


class Batch(NamedTuple):
    """One call. `sequences`: (context length, queries) each. `fill`: what lies in slots that hold no token of theirs.

    `large`: scores of some hundred, of which exp() is infinite; they are made of quarters, so that float32 has them
    exactly. `strided`: the queries lie head by head in memory, as a model computes them. `engine`: called as the
    course's engine calls it, with the options of other models, which are None.
    """

    sequences: tuple[tuple[int, int], ...]
    heads: int = 2
    kv_heads: int = 2
    key_dim: int = 3
    value_dim: int = 3
    block_size: int = 4
    scale: float | None = None
    fill: str = "nan"
    large: bool = False
    strided: bool = False
    engine: bool = False


class Given(NamedTuple):
    """The tensors of one call, in the order of the arguments."""

    query: Any
    key_pool: Any
    value_pool: Any
    block_tables: Any
    query_start: Any
    context_lengths: Any


@functools.lru_cache(maxsize=128)
def made(value: Batch) -> tuple[Given, Any]:
    """The arguments of a call, and the right result."""
    draw = torch.Generator().manual_seed(4)
    contexts, counts = ([pair[place] for pair in value.sequences] for place in (0, 1))
    tables, blocks = shuffled_tables(contexts, value.block_size, 2, draw)
    keys = [_drawn(value, context, value.kv_heads, value.key_dim, draw) for context in contexts]
    values = [torch.randn(context, value.kv_heads, value.value_dim, generator=draw) for context in contexts]
    query = _drawn(value, value.heads, sum(counts), value.key_dim, draw).transpose(0, 1)
    query = (query if value.strided else query.contiguous()) * (64 if value.large else 1)
    start = torch.tensor([0, *counts]).cumsum(0)
    scale = value.key_dim**-0.5 if value.scale is None else value.scale
    parts = [dense(query[start[s] : start[s + 1]], keys[s], values[s], scale)[0] for s in range(len(counts))]
    key_pool, value_pool = (Pages(rows, tables, blocks, value.block_size, value.fill).pool for rows in (keys, values))
    lengths = torch.tensor(contexts, dtype=torch.int32)
    given = Given(query, key_pool, value_pool, _padded(tables), start.to(torch.int32), lengths)
    return given, torch.cat(parts)


def _drawn(value: Batch, *shape: Any) -> Any:
    *sizes, draw = shape
    drawn = torch.randn(*sizes, generator=draw)
    return (drawn * 4).round() / 4 if value.large else drawn


def _padded(tables: list[list[int]]) -> Any:
    """Tables as one tensor. What stands behind a sequence's last entry is left over, and no block any more."""
    width = max(map(len, tables)) + 2
    rows = [[*table, *(STALE * width)[: width - len(table)]] for table in tables]
    return torch.tensor(rows, dtype=torch.int32)


def run(part: Any, value: Batch) -> None:
    """Attends with the learner's function; `Wrong` at the first number that is not as dense attention has it."""
    given, wanted = made(value)
    fresh = Given(*map(clone, given))
    options: dict[str, Any] = {} if value.scale is None else {"scale": value.scale}
    if value.engine:
        options |= {"window": None, "softcap": None, "sinks": None}
        _takes(part, fresh, options)
    sizes = "num_tokens, heads, head_dim of the values"
    got = is_tensor(part(*fresh, **options), tuple(wanted.shape), sizes)
    compare(wanted, got, fresh.query_start.tolist())
    names = ("query", "key_pool", "value_pool", "block_tables", "query_start", "context_lengths")
    unchanged(**{name: pair for name, *pair in zip(names, given, fresh, strict=True)})  # type: ignore[arg-type]


def _takes(part: Any, given: Given, options: dict[str, Any]) -> None:
    try:
        inspect.signature(part).bind(*given, **options)
    except TypeError:
        raise Wrong("does not take window, softcap and sinks, which the engine passes to all of them.") from None


def compare(wanted: Any, got: Any, start: list[int]) -> None:
    """`Wrong` that names how many rows differ, and the first number."""
    differ = apart(wanted, got)
    if not bool(differ.any()):
        return
    row, head, number = differ.nonzero()[0].tolist()
    rows, heads = int(differ.any(2).any(1).sum()), int(differ.any(2).any(0).sum())
    conversation = max(s for s, first in enumerate(start[:-1]) if first <= row and first < start[s + 1])
    query = row - start[conversation]
    place = f"row {row} (conversation {conversation}, query {query}), head {head}, number {number}"
    shares = f"{rows} of {len(wanted)} rows and {heads} of {wanted.shape[1]} heads differ"
    raise Wrong(f"{place}: {figures(float(got[row, head, number]), float(wanted[row, head, number]))}; {shares}.")


def render(value: Batch) -> list[str]:
    """The batch in words."""
    contexts, counts = ([pair[place] for pair in value.sequences] for place in (0, 1))
    start = [sum(counts[:s]) for s in range(len(counts) + 1)]
    dims = f"{value.key_dim}" if value.key_dim == value.value_dim else f"{value.key_dim} (values {value.value_dim})"
    options = ("" if value.scale is None else f", scale={value.scale:g}") + _OPTIONS * value.engine
    notes = [f"{value.fill} in unused slots", "scores of some hundred" * value.large,
             "query seen through .transpose(0, 1)" * value.strided]
    shapes = f"blocks of {value.block_size}, heads {value.heads}, kv_heads {value.kv_heads}, head_dim {dims}"
    return [f"context_lengths={contexts}, query_start={start}{options}", "; ".join(filter(None, [shapes, *notes]))]


def random_batches() -> Any:
    """A Hypothesis strategy for `Batch`es: prompts, chunks and single tokens side by side, also of length 0."""
    from hypothesis import strategies as st

    @st.composite
    def values(draw: Any) -> Batch:
        sequences = []
        for _ in range(draw(st.integers(1, 3))):
            context = draw(st.integers(0, 9))
            sequences.append((context, draw(st.integers(1, max(1, min(context, 4))))))
        kv_heads = draw(st.integers(1, 2))
        return Batch(tuple(sequences), kv_heads * draw(st.integers(1, 3)), kv_heads, 2, draw(st.integers(1, 2)),
                     draw(st.integers(1, 4)))

    return values()
