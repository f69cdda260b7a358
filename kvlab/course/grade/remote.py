"""What the checks are given in place of a learner's part: it asks in his process, and answers with plain data."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any

from kvlab.course.grade.connection import Connection, Stopped
from kvlab.course.interpreter import KernelFault, Window, Work


def function(connection: Connection, signature: inspect.Signature, watch: bool) -> Any:
    """A stand-in for a function: it takes the learner's parameters."""

    def part(*args: Any, **named: Any) -> Any:
        return connection.ask("call", args, named, fresh=True, watch=watch)

    part.__signature__ = signature  # type: ignore[attr-defined]
    return part


class Method:
    """A method of an object over there."""

    def __init__(self, owner: Instance, name: str) -> None:
        self._owner, self._name = owner, name

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self._owner._connection.ask("method", args, named, instance=self._owner._number, name=self._name)


class Instance:
    """An object of the learner's class. Its attributes are asked for over there, each time."""

    def __init__(self, connection: Connection, number: int) -> None:
        self._connection, self._number = connection, number

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        found = self._connection.ask("get", instance=self._number, name=name)
        if not isinstance(found, tuple) or len(found) != 2:
            raise Stopped("sent back no attribute")
        return Method(self, name) if found[0] == "method" else found[1]


def class_(connection: Connection) -> Any:
    """A stand-in for a class: calling it makes an object over there, and one here that has the same operators."""

    def part(*args: Any, **named: Any) -> Instance:
        number = connection.ask("make", args, named, fresh=True)
        kind = type("Instance", (Instance,), {name: _operator(name) for name in connection.special})
        return kind(connection, number if isinstance(number, int) else -1)

    return part


def _operator(name: str) -> Callable[..., Any]:
    def method(self: Instance, *args: Any) -> Any:
        return Method(self, name)(*args)

    return method


def kernel(signature: inspect.Signature) -> Any:
    """A stand-in for a Triton kernel; `runner` launches what it stands for."""

    def fn() -> None: ...

    fn.__signature__ = signature  # type: ignore[attr-defined]
    return types.SimpleNamespace(fn=fn, __name__="kernel", elsewhere=True)


def runner(connection: Connection) -> Callable[..., Work]:
    """What `launches.run` launches with: the interpreter over there, under the same guard."""

    def launch(_part: Any, grid: Any, /, *arguments: Any, poisoned: Any = None, shared: Any = ()) -> Work:
        given = tuple(("window", one.tensor, one.start) if isinstance(one, Window) else one for one in arguments)
        try:
            work = connection.ask("launch", given, fresh=True, grid=list(grid if isinstance(grid, tuple) else (grid,)),
                                  poisoned=None if poisoned is None else list(poisoned), shared=list(shared))
        except Exception as error:
            if getattr(error, "sentence", None) is None:
                raise
            raise KernelFault(str(getattr(error, "kind", "")), str(getattr(error, "sentence", ""))[:600]) from None
        loaded = work.get("loaded", {}) if isinstance(work, dict) else {}
        return Work(1, {str(name): count for name, count in loaded.items() if isinstance(count, int)}, {})

    return launch
