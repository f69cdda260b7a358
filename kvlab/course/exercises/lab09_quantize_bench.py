"""What `quantize_fp8` must do: divide by the scale, limit, and convert, number by number."""

from __future__ import annotations

from typing import Any, NamedTuple

from kvlab.course.declare import Traces, Wrong
from kvlab.course.exercises.lab04_tensors import clone, numbered, plain, torch, unchanged
from kvlab.course.exercises.scenarios import scenarios
from kvlab.course.shorten import show, with_article

CAST = "end with .to(torch.float8_e4m3fn)"


class Numbers(NamedTuple):
    """One call. `scale`: one number, or one for each of the KV heads. `shape`: counted up from `start` in `step`s."""

    scale: float | tuple[float, ...]
    shape: tuple[int, ...] = (2, 2, 3)
    start: float = -3.0
    step: float = 0.7
    dtype: str = "float32"

    def given(self) -> tuple[Any, Any]:
        """x and the scale."""
        x = (numbered(*self.shape) * self.step + self.start).to(getattr(torch, self.dtype))
        return x, torch.tensor(self.scale) if isinstance(self.scale, tuple) else self.scale

    def wanted(self) -> Any:
        """What must come out, as float32: the finished rule, written out."""
        x, scale = self.given()
        beside = scale[:, None] if isinstance(self.scale, tuple) else scale
        return (x.float() / beside).clamp(-448.0, 448.0).to(torch.float8_e4m3fn).float()


def run(part: Any, value: Numbers) -> None:
    """Quantizes with the learner's function; `Wrong` at the first number that is not kept as it must."""
    (x, scale), wanted = value.given(), value.wanted()
    before, scale_before = clone(x), clone(scale) if isinstance(value.scale, tuple) else None
    got = _eight_bits(part(x, scale), tuple(x.shape)).float()
    differ = (got != wanted).nonzero().tolist()
    if differ:
        place = tuple(differ[0])
        held, meant = (f"{float(one[place]):g}" for one in (got, wanted))
        divisor = value.scale[place[-2]] if isinstance(value.scale, tuple) else value.scale
        raise Wrong(f"{float(before[place]):g} at scale {divisor:g} is kept as {held}, expected {meant}; "
                    f"{len(differ)} of {wanted.numel()} numbers differ.", alike=got)
    unchanged(x=(before, x))
    if scale_before is not None:
        unchanged(scale=(scale_before, scale))


def _eight_bits(got: Any, shape: tuple[int, ...]) -> Any:
    """`got`, if it is a float8_e4m3fn tensor of that shape."""
    if got is None:
        raise Wrong("returned nothing (None), expected a tensor of float8_e4m3fn; is a `return` missing?")
    if not isinstance(got, torch.Tensor):
        raise Wrong(f"returned {show(got, 50)} ({with_article(type(got))}), expected a tensor of float8_e4m3fn.")
    if tuple(got.shape) != shape:
        raise Wrong(f"returned a tensor of shape {tuple(got.shape)}, expected {shape}, that of x.")
    if got.dtype != torch.float8_e4m3fn:
        raise Wrong(f"returned a tensor of {plain(got.dtype)}, expected float8_e4m3fn: 8 bits a number.", next=CAST,
                    alike=got)
    return got


def render(value: Numbers) -> list[str]:
    """The call, with a comment for x."""
    scale = list(value.scale) if isinstance(value.scale, tuple) else value.scale
    last = value.start + value.step * torch.tensor(value.shape).prod().item() - value.step
    kind = "" if value.dtype == "float32" else f", {value.dtype}"
    span = f"{value.start:g} to {last:g}" if 0 not in value.shape else "no numbers"
    return [f"quantize_fp8(x, scale={scale}), x of shape {list(value.shape)}{kind}: {span}"]


def random_numbers() -> Any:
    """A Hypothesis strategy for `Numbers`, some of them far out of range."""
    from hypothesis import strategies as st

    scale = st.sampled_from((0.25, 0.5, 2.0, 8.0))
    return st.builds(Numbers, st.one_of(scale, st.tuples(scale, scale)), st.just((2, 2, 3)),
                     st.sampled_from((-3.0, -4000.0, 0.0)), st.sampled_from((0.7, 9.0, 400.0)), st.just("float32"))


def quantizes(name: str, *values: Numbers, next: str | None = None) -> Traces:
    return scenarios(name, run, render, *values, next=next)
