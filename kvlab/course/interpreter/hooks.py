"""The private parts of Triton's interpreter that the guard holds on to, and a place of its own for each launch.

Tried with Triton 3.6.0, 3.7.1 and 3.9.0. Where one of these parts is missing, `unavailable` says so in a line.
"""

from __future__ import annotations

import dataclasses
import importlib
import types
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from kvlab.course.interpreter.faults import current_line
from kvlab.course.interpreter.memory import Memory
from kvlab.course.interpreter.overflow import Arithmetic

MODULE = "triton.runtime.interpreter"
NEEDED = ("_interpreter.load", "_interpreter.store", "_patch_lang", "_implicit_cvt", "interpreter_builder.set_grid_dim",
          "interpreter_builder.set_grid_idx", "InterpretedFunction.rewrite")
_FLOATS = {"fp16": np.float16, "fp32": np.float32, "fp64": np.float64}


def interpreter() -> Any:
    """Triton's interpreter, as a module. ModuleNotFoundError without Triton."""
    return importlib.import_module(MODULE)


def unavailable() -> str:
    """Why kernels run unguarded with this Triton, in one line; empty if they do not."""
    module = interpreter()
    missing = [name for name in NEEDED if not _has(module, name)]
    if not missing:
        return ""
    version = importlib.import_module("triton").__version__
    return (f"The bounds guard does not fit Triton {version} (no {missing[0]}), so kernels run without it: "
            "an index out of bounds may end Python.")


def _has(owner: Any, dotted: str) -> bool:
    for name in dotted.split("."):
        owner = getattr(owner, name, None)
    return owner is not None


@contextmanager
def held(memory: Memory) -> Iterator[Any]:
    """While it lasts, kernels of this process read and write through `memory`, and the language is patched once for all
    of them. Everything is put back, whatever happens. Yields Triton's interpreter."""
    module = interpreter()
    builder = module.interpreter_builder
    arithmetic = Arithmetic(builder, memory)
    before = {name: getattr(module, name) for name in ("_interpreter", "_patch_lang")}
    scope = _patched(module)
    try:
        module._interpreter, module._patch_lang = memory, lambda _fn: _Nothing()
        with _interpreted_helpers(module), _unsanitized(builder), _unfilled_lanes(builder, memory):
            arithmetic.install()
            yield module
    finally:
        arithmetic.remove()
        for name, value in before.items():
            setattr(module, name, value)
        scope.restore()


class _Nothing:
    """A patch that has been made already."""

    def restore(self) -> None:
        """Leaves it in place."""


class _Replay:
    """A patch that was made before, made again without looking for what to change: that takes longer than a small
    kernel."""

    def __init__(self, changes: list[tuple[Any, str, Any, Any]], absent: Any) -> None:
        self.changes, self.absent = changes, absent
        for owner, name, _, new in changes:
            setattr(owner, name, new)

    def restore(self) -> None:
        """Puts back what was there, the last change first."""
        for owner, name, old, _ in reversed(self.changes):
            if old is self.absent:
                delattr(owner, name)
            else:
                setattr(owner, name, old)


_changes: dict[int, list[tuple[Any, str, Any, Any]]] = {}  # by the module of Triton's that they belong to


def _patched(module: Any) -> Any:
    """The language as kernels in the interpreter need it, both of its modules at once. Has `restore`."""
    absent = getattr(module, "_MISSING", None)
    if id(module._patch_lang) in _changes and absent is not None:
        return _Replay(_changes[id(module._patch_lang)], absent)
    language = importlib.import_module("triton.language")
    seen = types.SimpleNamespace(__globals__={"tl": language, "core": language.core})  # stands for any kernel
    scope = module._patch_lang(seen)
    known = getattr(scope, "_changes", None)
    if isinstance(known, list):
        _changes[id(module._patch_lang)] = [(owner, name, old, vars(owner)[name]) for owner, name, old in known]
    return scope


@contextmanager
def _unsanitized(builder: Any) -> Iterator[None]:
    """Leaves out Triton's own check of int32 results, which costs nine operations for each and reports nothing."""
    options = getattr(builder, "options", None)
    with suppress(TypeError):
        builder.options = dataclasses.replace(options, sanitize_overflow=False)  # type: ignore[type-var]
    try:
        yield
    finally:
        builder.options = options


@contextmanager
def _unfilled_lanes(builder: Any, memory: Memory) -> Iterator[None]:
    """Masked lanes of a load of floats without `other` hold anything on a GPU. Here they get nan, not Triton's 0."""
    original = getattr(builder, "create_masked_load", None)
    if original is None:
        yield
        return

    def load(pointers: Any, mask: Any, other: Any, *rest: Any, **named: Any) -> Any:
        if other is None and not np.asarray(mask.data).all():
            kind = pointers.get_element_ty()
            if kind.name in _FLOATS:
                other = type(pointers)(np.full(pointers.data.shape, np.nan, _FLOATS[kind.name]), kind)
                memory.unfilled = memory.unfilled if memory.unfilled.number else current_line(memory.kernel)
        return original(pointers, mask, other, *rest, **named)

    builder.create_masked_load = load
    try:
        yield
    finally:
        vars(builder).pop("create_masked_load", None)


@contextmanager
def _interpreted_helpers(module: Any) -> Iterator[None]:
    """Helpers that were made to be compiled, as all of Triton's own are on a GPU, are interpreted for a while."""
    compiled = importlib.import_module("triton.runtime.jit").JITFunction
    before, known = compiled.__call__, dict[int, Any]()

    def call(self: Any, *arguments: Any, **named: Any) -> Any:
        helper = known.setdefault(id(self), None) or module.InterpretedFunction(self.fn)
        known[id(self)] = helper
        return helper(*arguments, **named)

    compiled.__call__ = call
    try:
        yield
    finally:
        compiled.__call__ = before
