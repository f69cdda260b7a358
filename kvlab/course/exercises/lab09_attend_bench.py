"""The bench for `attend_fp8`: float8 keys and values, the formula, and a look at every multiplication."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from kvlab.course.declare import Wrong
from kvlab.course.exercises.lab04_tensors import clone, figures, is_tensor, torch, unchanged
from kvlab.course.exercises.scenarios import scenarios
from kvlab.course.shorten import clip

Scale = float | tuple[float, ...]


class Said(NamedTuple):
    """One call: a sequence of `length` tokens, and the scales that its keys and values were divided by."""

    length: int = 6
    key_scale: Scale = 1.0
    value_scale: Scale = 1.0
    heads: int = 2
    kv_heads: int = 2
    dim: int = 8
    value_dim: int = 8


@functools.lru_cache(maxsize=64)
def made(value: Said) -> tuple[Any, Any, Any, Any]:
    """query, keys and values in 8 bits, and the right output."""
    draw = torch.Generator().manual_seed(9)
    query = torch.randn(value.heads, value.dim, generator=draw)
    keys = (torch.randn(value.length, value.kv_heads, value.dim, generator=draw) * 2).to(torch.float8_e4m3fn)
    values = (torch.randn(value.length, value.kv_heads, value.value_dim, generator=draw) * 2).to(torch.float8_e4m3fn)
    key, val = (  # multiplied back, each head repeated for its query heads: the formula, in float64
        (codes.double() * _beside(scale)).repeat_interleave(value.heads // value.kv_heads, 1).transpose(0, 1)
        for codes, scale in ((keys, value.key_scale), (values, value.value_scale))
    )
    scores = query.double()[:, None] @ key.transpose(1, 2) * value.dim**-0.5
    return query, keys, values, (scores.softmax(-1) @ val)[:, 0]


def _beside(scale: Scale) -> Any:
    return torch.tensor(scale, dtype=torch.float64)[:, None] if isinstance(scale, tuple) else scale


def run(part: Any, value: Said) -> None:
    """Attends with the learner's function; `Wrong` at the first number that is off, or for a copy of all keys."""
    query, keys, values, wanted = made(value)
    given = [clone(query), keys.clone(), values.clone(), *map(_given, (value.key_scale, value.value_scale))]
    with multiplications() as seen:
        found = _attended(part, given, value)
    got = is_tensor(found, tuple(wanted.shape), "heads, head_dim of the values")
    differ = ~torch.isclose(got.double(), wanted, rtol=1e-4, atol=1e-4, equal_nan=True)
    if bool(differ.any()):
        head, number = differ.nonzero()[0].tolist()
        heads = int(differ.any(1).sum())
        raise Wrong(f"head {head}, number {number}: {figures(float(got[head, number]), float(wanted[head, number]))}; "
                    f"{heads} of {len(wanted)} heads differ.", alike=got)
    unchanged(query=(query, given[0]), keys=(keys.float(), given[1].float()), values=(values.float(), given[2].float()))
    _no_copy(seen, value)


def _is_scale(numbers: Any, scale: Scale, dim: int) -> bool:
    """Whether these are the scales that were given, or one over them, or the same with the softmax scale in them."""
    given = torch.tensor(scale, dtype=torch.float64).reshape(-1)
    meant = torch.cat([given, 1 / given, given * dim**-0.5])
    return bool(torch.isclose(numbers[:, None], meant, rtol=2e-3, atol=0.0).any(1).all())


def _given(scale: Scale) -> Any:
    return torch.tensor(scale) if isinstance(scale, tuple) else scale


def _attended(part: Any, given: list[Any], value: Said) -> Any:
    """What the learner's function returns; `Wrong` if a scale a head was used as it is, which torch refuses."""
    try:
        return part(*given)
    except RuntimeError as error:
        plain = [scale for scale in (value.key_scale, value.value_scale) if isinstance(scale, tuple)]
        if plain and "must match the size of tensor" in str(error):
            raise Wrong(f"torch refused the sizes: {clip(str(error), 90)}, with scales of shape [{len(plain[0])}], "
                        "expected each to be used for the query heads of its KV head.", alike="sizes",
                        next="give each query head the scale of its KV head: repeat_interleave, then [:, None]"
                        ) from error
        raise


def _no_copy(seen: list[tuple[int, Any]], value: Said) -> None:
    """`Wrong` if in all as many numbers as there are keys, or values, were multiplied by their scale.

    Folding multiplies the query or the scores, and the weights or the output; once each, and once more if both scales
    are the same number, so that one cannot tell which was meant. Numbers of other factors, as torch's own attention
    multiplies by, are not counted.
    """
    folded = value.heads * (max(value.length, value.dim) + max(value.length, value.value_dim))
    for which, dim, scale in (("keys", value.dim, value.key_scale), ("values", value.value_dim, value.value_scale)):
        numbers = value.length * value.kv_heads * dim
        multiplied = sum(large for large, small in seen if large > value.heads and _is_scale(small, scale, value.dim))
        if scale != 1.0 and numbers > folded and multiplied >= numbers:
            raise Wrong(f"multiplied {numbers} numbers by a scale, as many as there are in {which}, expected a scale "
                        f"to be folded in: {value.heads * value.length} scores and {value.heads * value.value_dim} "
                        "numbers of the output.", alike="a copy")


@contextmanager
def multiplications() -> Iterator[list[tuple[int, Any]]]:
    """Collects, for every product or quotient of two tensors or of one and a number, how many numbers the larger side
    has, and the different numbers of the other."""
    from torch.utils._python_dispatch import TorchDispatchMode

    seen: list[tuple[int, Any]] = []
    aten = torch.ops.aten
    products = (aten.mul, aten.mul_, aten.div, aten.div_)

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = function(*args, **(kwargs or {}))
            if function.overloadpacket in products and result.is_floating_point():
                small, large = sorted(map(torch.as_tensor, args[:2]), key=lambda one: one.numel())
                for side in (small, large) if small.numel() == large.numel() else (small,):
                    seen.append((large.numel(), side.detach().double().unique()))
            return result

    with Watch():
        yield seen


def render(value: Said) -> list[str]:
    """The call, with a comment for the tensors."""
    scales = [list(one) if isinstance(one, tuple) else one for one in (value.key_scale, value.value_scale)]
    dims = f"{value.dim}" if value.dim == value.value_dim else f"{value.dim} (values {value.value_dim})"
    return [f"attend_fp8(query, keys, values, key_scale={scales[0]}, value_scale={scales[1]})",
            f"{_count(value.length, 'token')}, {_count(value.heads, 'head')}, {_count(value.kv_heads, 'KV head')}, "
            f"head_dim {dims}"]


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def attends(name: str, *values: Said, invariant: str | None = None, next: str | None = None) -> Any:
    return scenarios(name, run, render, *values, invariant=invariant, next=next)


def random_calls() -> Any:
    """A Hypothesis strategy for `Said`s."""
    from hypothesis import strategies as st

    scale = st.sampled_from((0.25, 0.5, 2.0, 3.0))

    @st.composite
    def values(draw: Any) -> Said:
        kv_heads = draw(st.integers(1, 2))
        either = st.one_of(scale, st.tuples(*[scale] * kv_heads))
        return Said(draw(st.integers(1, 9)), draw(either), draw(either), kv_heads * draw(st.integers(1, 3)), kv_heads)

    return values()
