"""Whether the learner's object is the finished part in disguise: itself, a subclass of it, or a call of it."""

from __future__ import annotations

import ast
import importlib
from typing import Any

from kvlab.course.declare import Exercise
from kvlab.course.registry import part_of
from kvlab.course.source import Source, plain


def sentence(entry: Exercise, part: Any, source: Source | None, names: dict[str, Any]) -> str:
    """Why there is nothing of the learner's to check, as the first sentence of a verdict; empty if there is."""
    finished, thing = part_of(entry), plain(part)
    family = _family(finished)
    if thing is finished or getattr(thing, "__code__", 0) is getattr(finished, "__code__", 1):
        return f"{entry.name} is the finished part itself, so there is nothing of yours to check."
    if isinstance(thing, type) and any(_among(base, family) for base in thing.__mro__):
        return f"{entry.name} inherits from the finished part, so there is little of yours to check."
    if source is not None and any(_among(_meant(node, entry, names), family) for node in ast.walk(source.node)):
        return f"{entry.name} uses {entry.part}, the finished part, so there is nothing of yours to check."
    return ""


def _family(finished: Any) -> list[Any]:
    """The finished part, and for a class those of the same package that it inherits its behaviour from."""
    if not isinstance(finished, type):
        return [finished]
    package = finished.__module__.partition(".")[0]
    ours = (base for base in finished.__mro__ if base.__module__.partition(".")[0] == package)
    return [base for base in ours if not issubclass(base, BaseException) and not getattr(base, "_is_protocol", False)]


def _among(thing: Any, family: list[Any]) -> bool:
    return any(thing is member for member in family)


def _meant(node: ast.AST, entry: Exercise, names: dict[str, Any]) -> Any:
    """The object that a name, a dotted name or an import in the learner's source stands for, or None. The exercise's
    own name stands for the learner's object while it is checked."""
    if isinstance(node, ast.ImportFrom) and node.module:
        name = entry.part.rpartition(".")[2]
        return _attribute(_module(node.module), name) if any(alias.name == name for alias in node.names) else None
    if isinstance(node, ast.Name):
        return None if node.id == entry.name else names.get(node.id)
    if isinstance(node, ast.Attribute):
        return _attribute(_meant(node.value, entry, names), node.attr)
    return None


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name) if name.startswith("kvlab.") else None
    except Exception:
        return None


def _attribute(owner: Any, name: str) -> Any:
    """`owner.name` for a module; None otherwise, since asking other objects may run code."""
    return vars(owner).get(name) if type(owner).__name__ == "module" else None
