"""Whether the learner's object is the finished part in disguise: itself, a subclass of it, or a call of it."""

from __future__ import annotations

import ast
import sys
from typing import Any

from kvlab.course.declare import Exercise
from kvlab.course.registry import part_of
from kvlab.course.source import Source, plain


def sentence(entry: Exercise, part: Any, source: Source | None, names: dict[str, Any]) -> str:
    """Why there is nothing of the learner's to check, as the first sentence of a verdict; empty if there is."""
    finished, thing = part_of(entry), plain(part)
    family = _family(finished)
    if thing is plain(finished) or getattr(thing, "__code__", 0) is getattr(plain(finished), "__code__", 1):
        return f"{entry.name} is the finished part itself, so there is nothing of yours to check."
    if isinstance(thing, type) and any(_among(base, family) for base in thing.__mro__):
        return f"{entry.name} inherits from the finished part, so there is little of yours to check."
    if source is not None and _mentions(source.node, entry.name, family, names):
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


def _mentions(node: ast.AST, own_name: str, family: list[Any], names: dict[str, Any]) -> bool:
    """Whether a definition names one of `family`. Its own name stands for itself, whatever it means outside."""
    local = _imported(node)
    if any(_among(value, family) for value in local.values()):
        return True
    known = {name: value for name, value in (names | local).items() if name != own_name}
    return any(_among(_meant(inner, known), family) for inner in ast.walk(node))


def _imported(node: ast.AST) -> dict[str, Any]:
    """What the imports inside a definition bind, as far as it is loaded already; the finished part's module is."""
    found: dict[str, Any] = {}
    for inner in ast.walk(node):
        if isinstance(inner, ast.ImportFrom) and inner.module:
            for alias in inner.names:
                module = sys.modules.get(f"{inner.module}.{alias.name}")
                found[alias.asname or alias.name] = module or _attribute(sys.modules.get(inner.module), alias.name)
        elif isinstance(inner, ast.Import):
            for alias in inner.names:
                name = alias.name if alias.asname else alias.name.partition(".")[0]
                found[alias.asname or name] = sys.modules.get(name)
    return found


def _meant(node: ast.AST, names: dict[str, Any]) -> Any:
    """The object that a name or a dotted name stands for, or None."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    return _attribute(_meant(node.value, names), node.attr) if isinstance(node, ast.Attribute) else None


def _attribute(owner: Any, name: str) -> Any:
    """`owner.name` for a module; None otherwise, since asking other objects may run code."""
    if type(owner).__name__ != "module":
        return None
    # Ours load some names when they are asked for.
    ours = owner.__name__.partition(".")[0] == __name__.partition(".")[0]
    return getattr(owner, name, None) if ours else vars(owner).get(name)
