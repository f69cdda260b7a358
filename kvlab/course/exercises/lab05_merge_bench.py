"""The bench for `merge_partials`: queries that attend to parts of their keys, and to all keys at once."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from kvlab.course.declare import Wrong
from kvlab.course.exercises.lab04_tensors import apart, clone, figures, is_tensor, torch, unchanged


class Merge(NamedTuple):
    """One call. `lengths`: tokens in each part. `shape`: what lies between parts and value_dim, such as (heads,).

    `scores`: "high" are some hundred, of which exp() is infinite; "low" as far below 0; "steep" grow from part to part.
    """

    lengths: tuple[int, ...]
    shape: tuple[int, ...] = (2,)
    dim: int = 3
    scores: str = ""


@functools.lru_cache(maxsize=64)
def made(value: Merge) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """The arguments of a call, and the output and log-sum-exp over all parts. Parts of no tokens hold NaN and -inf."""
    draw = torch.Generator().manual_seed(5)
    scores, values = [], []
    for place, length in enumerate(value.lengths):
        drawn = torch.randn(*value.shape, length, generator=draw, dtype=torch.float64)
        shift = {"high": 300.0, "low": -300.0, "steep": 3.0 * place}.get(value.scores, 0.0)
        scores.append(drawn + shift)
        values.append(torch.randn(*value.shape, length, value.dim, generator=draw, dtype=torch.float64))
    parts = [_attended(*pair) for pair in zip(scores, values, strict=True)]
    whole = _attended(torch.cat(scores, -1), torch.cat(values, -2))
    outputs = torch.stack([out if length else torch.full_like(out, float("nan"))
                           for (out, _), length in zip(parts, value.lengths, strict=True)])
    given = outputs.float(), torch.stack([lse for _, lse in parts]).float()
    return given, (whole[0].float(), whole[1].float())


def _attended(scores: Any, values: Any) -> tuple[Any, Any]:
    lse = scores.logsumexp(-1)
    weights = torch.exp(scores - lse.unsqueeze(-1)) if scores.shape[-1] else scores
    return (weights.unsqueeze(-1) * values).sum(-2), lse


def run(part: Any, value: Merge) -> None:
    """Merges with the learner's function; `Wrong` at the first number that is not as all keys at once have it."""
    given, (output, lse) = made(value)
    fresh = tuple(map(clone, given))
    got = part(*fresh)
    if not isinstance(got, (tuple, list)) or len(got) != 2:
        held = "one tensor" if isinstance(got, torch.Tensor) else "nothing (None)" if got is None else "no pair"
        raise Wrong(f"returned {held}, expected two tensors: the output and the log of the sum.",
                    next="return output, lse", alike=held)
    found = is_tensor(got[0], tuple(output.shape), "the output, without the parts")
    found_lse = is_tensor(got[1], tuple(lse.shape), "the log of the whole sum, without the parts")
    for what, wanted, own in (("output", output, found), ("the log of the sum", lse, found_lse)):
        differ = apart(wanted, own)
        if bool(differ.any()):
            place = tuple(differ.nonzero()[0].tolist())
            where = f"{what}[{', '.join(map(str, place))}]"
            said = _figures(float(own[place]), float(wanted[place]), 0 in value.lengths)
            raise Wrong(f"{where}: {said}; {int(differ.sum())} of {differ.numel()} numbers differ.",
                        alike=(found, found_lse))
    unchanged(outputs=(given[0], fresh[0]), lses=(given[1], fresh[1]))


def _figures(got: float, wanted: float, empty: bool) -> str:
    why = "empty parts, 0 / 0 and inf - inf" if empty else "inf / inf: exp() of some hundred is inf"
    return figures(got, wanted).replace("unwritten slots, 0 / 0 and inf - inf", why)


def render(value: Merge) -> list[str]:
    """The call in words."""
    counts, sizes = ", ".join(map(str, value.lengths)), ", ".join(map(str, value.shape))
    notes = {"high": "; scores of some hundred", "low": "; scores some hundred below 0"}.get(value.scores, "")
    empty = "; empty parts hold nan and -inf" if 0 in value.lengths else ""
    return [f"parts of {counts} tokens, outputs [{len(value.lengths)}, {sizes}, {value.dim}], lses "
            f"[{len(value.lengths)}, {sizes}]{notes}{empty}"]
