"""Writing keys and values by the function of lab 04 or the kernel of lab 05, compared with the finished part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kvlab.course.interpreter import KernelFault
from kvlab.course.myparts.kernels import launchable
from kvlab.course.myparts.parts import Parts
from kvlab.course.myparts.wording import said
from kvlab.errors import UsageError

WRITERS = ("write_kv_kernel", "write_kv")
"""Exercises that do the same; the first that is the learner's does it."""


def writer(parts: Parts) -> Callable[..., None] | None:
    """`write(key_pool, value_pool, key, value, slots)` by the learner's, or None if there is none of theirs."""
    if not any(name in parts.mine for name in WRITERS):
        return None
    from kvlab.compute import write_kv

    def write(key_pool: Any, value_pool: Any, key: Any, value: Any, slots: Any) -> None:
        name = next((name for name in WRITERS if name in parts.mine), None)
        if name is None:
            return write_kv(key_pool, value_pool, key, value, slots)
        wanted = key_pool.clone(), value_pool.clone()
        write_kv(*wanted, key, value, slots)
        rows = key.clone(), value.clone(), slots.clone()
        _, error = parts.attempt(name, lambda: _written(name, parts.mine[name], key_pool, value_pool, *rows))
        unfit = isinstance(error, UsageError) and name.endswith("_kernel")
        if unfit:
            parts.set_aside(name, str(error))
        wrong = "" if unfit else _wrong_write(error, (key_pool, value_pool), wanted, slots)
        if wrong:
            parts.blame(name, f"{name} with slots {_few(slots)} {wrong}", "I4")
        if error is not None or wrong:
            key_pool.copy_(wanted[0])
            value_pool.copy_(wanted[1])

    return write


def _written(name: str, part: Any, key_pool: Any, value_pool: Any, key: Any, value: Any, slots: Any) -> None:
    if name == "write_kv":
        part(key_pool, value_pool, key, value, slots)
        return
    from kvlab.compute.lab_kernels import writer as by_kernel

    by_kernel(launchable(part, key.device))(key_pool, value_pool, key, value, slots)


def _wrong_write(error: BaseException | None, got: tuple[Any, Any], wanted: tuple[Any, Any], slots: Any) -> str:
    """What is wrong with two pools after a write, by the first slot at which they are not as they must be."""
    if error is not None:
        return error.sentence if isinstance(error, KernelFault) else f"{said(error)}."
    for name, pool, other in zip(("key_pool", "value_pool"), got, wanted, strict=True):
        apart = ~((pool == other) | ((pool != pool) & (other != other)))
        if bool(apart.any()):
            slot = int(apart.flatten(0, 1).flatten(1).any(1).nonzero()[0])
            meant = bool((slots == slot).any())
            what = "does not hold its token's row" if meant else "was written, although no token goes there"
            return f"left {name} wrong: slot {slot} {what}."
    return ""


def _few(slots: Any) -> str:
    shown = slots[:6].tolist()
    return f"{shown}" if len(slots) <= 6 else f"{shown[:-1]} and {len(slots) - 5} more".replace("]", ", ...]", 1)
