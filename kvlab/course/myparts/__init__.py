"""The learner's own parts in the real engine: `Engine.from_my_parts(model, num_blocks)`.

Every exercise that passed has left its source in the progress file. Those that are parts of an engine are put into one;
finished parts do the rest. Every call of a learner's part is timed and compared with the finished part, every invariant
is checked after every step, and a part that fails is named in one sentence, with the call in which it showed. The
finished part answers that very call and all that follow, so the text that comes out is always the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kvlab.course import registry
from kvlab.course.myparts.kit import Kit, Row
from kvlab.course.myparts.load import is_finished, is_part
from kvlab.course.myparts.parts import Fault, Parts
from kvlab.course.myparts.roles import ROLES, Role
from kvlab.course.session import session
from kvlab.errors import UsageError

__all__ = ["ROLES", "Fault", "Kit", "Parts", "Role", "Row", "engine_from_my_parts", "my_parts"]

_REFUSED = {"manager", "attention", "policies", "order", "checked", "tiers", "kv_dtype", "scales", "hybrid"}
_GPU_ONLY = "yours runs where a GPU is, or with kernels=True"


def my_parts(mine: Mapping[str, Any] | None = None, saved: bool = True) -> dict[str, Any]:
    """The learner's parts by exercise: objects and sources of `mine`, and sources from the progress file behind them.

    mine: a table of functions, classes, kernels and sources; a name that is no exercise is refused with `UsageError`.
    Or a notebook's `globals()`. Other exercises, other names of a notebook and finished parts are passed over.
    saved: whether passed exercises are read from the progress file.
    """
    found: dict[str, Any] = {}
    if saved:
        for name, record in session().progress.read()["exercises"].items():
            source = record.get("passed_source")
            if name in ROLES and isinstance(source, str) and source:
                found[name] = source
    if mine and "__name__" not in mine:
        _refuse_unknown([name for name in mine if name not in ROLES and registry.find(name) is None])
    for name, part in (mine or {}).items():
        if name in ROLES and (isinstance(part, str) or is_part(part) and not is_finished(name, part)):
            found[name] = part
    return found


def _refuse_unknown(names: list[str]) -> None:
    """A misspelt part would be passed over in silence, and the finished one would run."""
    if names:
        near = registry.suggestion(str(names[0]), ROLES) or f" They are {', '.join(ROLES)}."
        raise UsageError(f"{names[0]!r:.60} is no part of an engine.{near}")


def engine_from_my_parts(model: Any, num_blocks: int, block_size: int = 16, *, mine: Mapping[str, Any] | None = None,
                         saved: bool = True, kernels: bool | None = None, prefix: str | None = "hash",
                         recheck: bool = False, quiet: bool = False, **options: Any) -> Any:
    """An engine of the learner's own parts, and finished ones for the rest. `Engine.from_my_parts` calls this.

    Returns a `kvlab.serve.supervised.SupervisedEngine`. `engine.parts` is a table of which part is whose;
    `engine.parts.faults` has what was wrong with any of them, which is also printed when it shows, unless `quiet`.

    mine, saved: see `my_parts`. kernels: whether the learner's Triton kernels run; by default where the model is on a
    GPU, since the interpreter takes some seconds a token. prefix: how prompts are found that were computed before, by
    lab 07's functions: "hash", "radix", or None. recheck: whether every part is checked once more as in its lab, a
    second or two each; one that passes no more is not used. options: those of `Engine`; what the parts decide or know
    nothing of is refused with `UsageError` (`manager`, `attention`, `policies`, `order`, `tiers`, `kv_dtype`, `scales`,
    `hybrid`; `checked` is always on).
    """
    from kvlab.serve.supervised import SupervisedEngine

    refused = sorted(_REFUSED & options.keys())
    if refused:
        says = "they decide it themselves, or know nothing of it"
        raise UsageError(f"{', '.join(refused)} cannot be given beside your own parts: {says}")
    parts = Parts(my_parts(mine, saved), quiet)
    if not (model.device.type == "cuda" if kernels is None else kernels):
        for name, role in ROLES.items():
            if role.kernel:
                parts.set_aside(name, _GPU_ONLY)
    kit = Kit(parts, prefix)
    if recheck:
        kit.recheck()
    return SupervisedEngine(model, num_blocks, block_size, supplier=kit, **options)
