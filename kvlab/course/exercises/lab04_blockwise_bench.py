"""The bench for `attend_blockwise`: both results against dense attention, and nothing larger than a block."""

from __future__ import annotations

import functools
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
from kvlab.course.shorten import show, with_article

_LOG = "return largest + log(total): the log of the sum of all exp(score)"


class Walk(NamedTuple):
    """One call. `scores`: "high" are some hundred, of which exp() is infinite; "low" as far below 0; "rising" and
    "falling" grow or shrink from token to token; "plunging" are about 80, and after half of the tokens about -80, alike
    in all heads. `stale`: the table goes on behind its last block."""

    length: int
    heads: int = 2
    kv_heads: int = 2
    key_dim: int = 3
    value_dim: int = 3
    block_size: int = 4
    scale: float | None = None
    fill: str = "nan"
    scores: str = ""
    stale: bool = False


@functools.lru_cache(maxsize=128)
def made(value: Walk) -> tuple[tuple[Any, Any, Any], list[int], Any, Any]:
    """Query and pools, the table, and the right output and log of the sum."""
    draw = torch.Generator().manual_seed(4)
    tables, blocks = shuffled_tables([value.length], value.block_size, 2, draw)
    query = torch.randn(value.heads, value.key_dim, generator=draw)
    key = torch.randn(value.length, value.kv_heads, value.key_dim, generator=draw)
    values = torch.randn(value.length, value.kv_heads, value.value_dim, generator=draw)
    query, key = _steered(value.scores, query, key)
    scale = value.key_dim**-0.5 if value.scale is None else value.scale
    output, lse = dense(query[None], key, values, scale)
    pools = [Pages([rows], tables, blocks, value.block_size, value.fill).pool for rows in (key, values)]
    return (query, *pools), [*tables[0], *(STALE if value.stale else ())], output[0], lse[0]


def _steered(scores: str, query: Any, key: Any) -> tuple[Any, Any]:
    """Query and keys whose products are as `scores` says; the large ones of quarters, which float32 has exactly."""
    if scores in ("high", "low"):
        query, key = (query.abs() * 4).ceil() * 64, (key.abs() * 4).ceil() / 4 + 1
        return query, key if scores == "high" else -key
    if scores == "plunging":
        halves = torch.where(torch.arange(len(key)) < len(key) // 2, 1.0, -1.0)
        return torch.ones_like(query), ((key * 4).round() / 4).clamp(-1, 1) + 52 * halves[:, None, None]
    if scores in ("rising", "falling"):
        steps = torch.arange(1, len(key) + 1) if scores == "rising" else torch.arange(len(key), 0, -1)
        return query.abs() + 0.5, key.abs() * 0.2 + steps[:, None, None] * 0.2
    return query, key


def run(part: Any, value: Walk) -> None:
    """Attends with the learner's function; `Wrong` at the first number that is not as dense attention has it."""
    given, table, output, lse = made(value)
    fresh, walked = tuple(map(clone, given)), list(table)
    scale = () if value.scale is None else (value.scale,)
    got = pair(part(*fresh, walked, value.length, *scale))
    found = is_tensor(got[0], tuple(output.shape), "the output, [heads, head_dim] of the values")
    found_lse = is_tensor(got[1], tuple(lse.shape), "the log of the sum, one a head")
    compare(output, found, lse, found_lse)
    if walked != table:
        raise Wrong(f"changed the table to {show(walked, 40)}, expected it to be left alone.")
    unchanged(query=(given[0], fresh[0]), key_pool=(given[1], fresh[1]), value_pool=(given[2], fresh[2]))


def pair(got: Any) -> tuple[Any, Any]:
    """What was returned, if it is two things."""
    if got is None:
        raise Wrong("returned nothing (None), expected the output and the log of the softmax's sum.")
    if not isinstance(got, (tuple, list)) or len(got) != 2:
        what = f"{show(got, 40)} ({with_article(type(got))})"
        if isinstance(got, (tuple, list)):
            what = f"{len(got)} things"
        elif isinstance(got, torch.Tensor):
            what = f"one tensor of shape {tuple(got.shape)}"
        raise Wrong(f"returned {what}, expected two: the output and the log of the softmax's sum.")
    return got[0], got[1]


def compare(output: Any, found: Any, lse: Any, found_lse: Any) -> None:
    """`Wrong` that names the first number that differs, and whether the other of the two results is right."""
    wrong, wrong_lse = apart(output, found), apart(lse, found_lse)
    heads = len(lse)
    if bool(wrong.any()):
        head, number = wrong.nonzero()[0].tolist()
        numbers = figures(float(found[head, number]), float(output[head, number]))
        count, sums = int(wrong.any(1).sum()), f"{float(found_lse[head]):.3g}, not {float(lse[head]):.3g}"
        rest = f"{count} of {heads} heads differ, the log of the sum is {sums if bool(wrong_lse[head]) else 'right'}"
        raise Wrong(f"output of head {head}, number {number}: {numbers}; {rest}.")
    if bool(wrong_lse.any()):
        head = wrong_lse.nonzero()[0].item()
        numbers = figures(float(found_lse[head]), float(lse[head]))
        raise Wrong(f"log of the sum of head {head}: {numbers}; the output is right.",
                    next=_LOG if bool(lse[head].isfinite()) else None)


def a_block_at_a_time(part: Any) -> None:
    """`Wrong` if anything is made that grows with the length. Floating-point tensors alone count: a table or a mask as
    a tensor is small. What lies in the pool's own memory is a view and costs nothing."""
    value = Walk(101, heads=4, kv_heads=2, key_dim=2, value_dim=2, block_size=2)
    given, table, output, lse = made(value)
    with _largest_made(given[1:]) as seen:
        got = pair(part(*given, list(table), value.length))
    compare(output, is_tensor(got[0], (4, 2)), lse, is_tensor(got[1], (4,)))
    block = value.block_size * value.heads * value.key_dim
    if seen.size > 4 * block:
        raise Wrong(f"with {value.length} tokens in blocks of {value.block_size} it makes a tensor of shape "
                    f"{seen.shape}, {seen.size} numbers; the keys of a block, once for each query head, are {block}.")


def _largest_made(pools: Any) -> Any:
    """A context that watches every call of torch, and notes the largest floating-point tensor that is made."""
    from torch.overrides import TorchFunctionMode

    class Watch(TorchFunctionMode):
        def __init__(self) -> None:
            super().__init__()
            self.size, self.shape = 0, ()
            self.known = {pool.untyped_storage().data_ptr() for pool in pools}

        def __torch_function__(self, call: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = call(*args, **(kwargs or {}))
            for made in result if isinstance(result, (tuple, list)) else (result,):
                if isinstance(made, torch.Tensor) and made.is_floating_point():
                    self._note(made)
            return result

        def _note(self, made: Any) -> None:
            storage = made.untyped_storage()
            size = storage.nbytes() // made.element_size()
            if size > self.size and storage.data_ptr() not in self.known:
                self.size, self.shape = size, tuple(made.shape)

    return Watch()


def render(value: Walk) -> list[str]:
    """The call in words."""
    dims = f"{value.key_dim}" if value.key_dim == value.value_dim else f"{value.key_dim} (values {value.value_dim})"
    scale = "" if value.scale is None else f", scale={value.scale:g}"
    notes = {"high": "; scores of some hundred", "low": "; scores far below 0", "rising": "; scores that rise",
             "falling": "; scores that fall", "plunging": "; scores that fall by 150", "": ""}[value.scores]
    table = made(value)[1]
    return [f"attend_blockwise(query, key_pool, value_pool, table={show(table, 45)}, length={value.length}{scale})",
            f"blocks of {value.block_size}, heads {value.heads}, kv_heads {value.kv_heads}, head_dim {dims}; "
            f"{value.fill} in unused slots{notes}"]


def random_walks() -> Any:
    """A Hypothesis strategy for `Walk`s."""
    from hypothesis import strategies as st

    @st.composite
    def values(draw: Any) -> Walk:
        kv_heads, scores = draw(st.integers(1, 2)), draw(st.sampled_from(("", "rising", "falling", "high", "low")))
        scale = 0.5 if scores in ("high", "low") else None
        return Walk(draw(st.integers(0, 12)), kv_heads * draw(st.integers(1, 3)), kv_heads, 3, draw(st.integers(1, 2)),
                    draw(st.integers(1, 4)), scale, scores=scores, stale=draw(st.booleans()))

    return values()
