"""The whole state of an object, frozen, to show that a refused call has changed none of it (I13)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


def snapshot(thing: Any) -> Any:
    """`thing` and everything it refers to, as nested tuples: equal only if nothing has changed, order included."""
    if isinstance(thing, dict):
        return "dict", tuple((snapshot(key), snapshot(value)) for key, value in thing.items())
    if isinstance(thing, set):
        return "set", frozenset(thing)
    if isinstance(thing, list | tuple):
        return type(thing).__name__, tuple(map(snapshot, thing))
    slots = [name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ())]
    fields = getattr(thing, "__dict__", {}) | {name: getattr(thing, name) for name in slots}
    fields = {name: value for name, value in fields.items() if not callable(value)}
    return (type(thing).__name__, snapshot(fields)) if fields else thing


def refused(
    error: type[Exception], *things: Any, call: Callable[[], object], match: str | None = None
) -> pytest.ExceptionInfo:
    """Assert that `call` raises `error` with `match` in its text and leaves all of `things` as they were."""
    before = snapshot(list(things))
    with pytest.raises(error, match=match) as raised:
        call()
    assert snapshot(list(things)) == before
    return raised
