"""Defines a learner's part, and does with it what the other side asks."""

from __future__ import annotations

import ast
import contextlib
import importlib
import os
import random
import socket
import sys
import types
from typing import Any

from kvlab.course.grade.far.pipes import receive, send
from kvlab.course.grade.far.watching import Watch, modes
from kvlab.course.grade.far.wire import SPECIAL, Opaque, Wire


class Server:
    """Defines the learner's part and does what it is asked: make, call, get, launch."""

    def __init__(self, pipe: socket.socket, job: dict[str, Any]) -> None:
        memory, errors = sys.modules["kvlab.memory"], sys.modules["kvlab.errors"]
        kinds = {name: vars(memory)[name] for name in ("RadixNode", "CachedBlock")}
        known = {name: value for name, value in vars(errors).items() if isinstance(value, type)}
        self.pipe, self.job = pipe, job
        self.wire = Wire(1, kinds, known, self._foreign, self._native)
        self.instances: dict[int, Any] = {}
        self.part: Any = None
        self.seen: dict[str, Any] = {}

    def serve(self) -> None:
        """Until the other side hangs up. First it says whether the part could be defined."""
        trouble = self._attempt(self._define)
        send(self.pipe, trouble if "raised" in trouble else {"special": self._special()})
        while (asked := receive(self.pipe)) is not None:
            send(self.pipe, self._attempt(lambda: self._do(asked)))  # noqa: B023

    def _special(self) -> list[str]:
        """The methods of a class that operators call, such as `in`."""
        return [name for name in SPECIAL if isinstance(self.part, type) and hasattr(self.part, name)]

    def _attempt(self, call: Any) -> dict[str, Any]:
        stirred, self.seen = random.getstate(), {}
        try:
            reply = {"returned": self.wire.pack(call())}
        except BaseException as error:
            while type(error).__name__ == "InterpreterError" and error.__cause__ is not None:
                error = error.__cause__
            reply = {"raised": self.wire.pack(error)}
        return reply | self.seen | ({"stirred": True} if random.getstate() != stirred else {})

    def _define(self) -> None:
        names = {"__name__": "graded", "__builtins__": __builtins__}
        sys.modules["graded"] = types.ModuleType("graded")
        for name, value in self.job["constants"].items():
            module, _, short = name.rpartition(".")
            vars(importlib.import_module(module))[short] = value
        names |= {name: _Service(self, name) for name in self.job["services"]}
        file, line = os.path.abspath("cell.py"), 0
        for piece in self.job["pieces"]:
            last = piece is self.job["pieces"][-1]
            try:
                code = ast.increment_lineno(ast.parse(piece), line)
                exec(compile(code, file, "exec", dont_inherit=True), names)
            except Exception:
                if last:
                    raise
            line += piece.count("\n") + 1
        self.part = names[self.job["name"]]

    def _do(self, asked: dict[str, Any]) -> Any:
        if asked.get("fresh"):
            self.wire.clear()
        args, named = self.wire.unpack(asked["given"])
        kind = asked["do"]
        if kind == "call":
            return self._watched(args, named) if asked.get("watch") else self.part(*args, **named)
        if kind == "make":
            number = len(self.instances)
            self.instances[number] = self.part(*args, **named)
            return number
        if kind == "launch":
            return self._launch(asked, args)
        thing = getattr(self.instances[asked["instance"]], asked["name"])
        if kind == "get":
            return ("method", None) if callable(thing) else ("value", thing)
        return thing(*args, **named)

    def _watched(self, args: list[Any], named: dict[str, Any]) -> Any:
        watch = Watch(self.wire.known.values())
        with contextlib.ExitStack() as stack:
            for mode in modes(watch):
                stack.enter_context(mode)
            value = self.part(*args, **named)
        self.seen = watch.seen()
        return value

    def _launch(self, asked: dict[str, Any], args: list[Any]) -> Any:
        guard = importlib.import_module("kernelguard")
        given = [guard.Window(*one[1:]) if isinstance(one, tuple) and one and one[0] == "window" else one
                 for one in args]
        work = guard.guarded(self.part, tuple(asked["grid"]), *given, poisoned=asked["poisoned"],
                             shared=asked["shared"])
        return {"programs": work.programs, "loaded": dict(work.loaded)}

    def ask(self, what: dict[str, Any], *given: Any) -> Any:
        """Asks the other side in the middle of a call: an argument that stays there, or a helper."""
        send(self.pipe, {"asks": what, "given": self.wire.pack(given)})
        reply = receive(self.pipe)
        if reply is None:
            os._exit(0)
        if "raised" in reply:
            raise self.wire.unpack(reply["raised"])
        return self.wire.unpack(reply["returned"])

    def _foreign(self, value: Any) -> list[Any] | None:
        return ["there", value.__dict__["_number"]] if type(value) is Handle else None

    def _native(self, text: list[Any]) -> Any:
        return Handle(self, text[1]) if text[0] == "there" else Opaque(text[0])


class Handle:
    """An argument that stays on the other side, such as a pool: its attributes and methods are asked for there."""

    def __init__(self, server: Server, number: int) -> None:
        self.__dict__.update(_server=server, _number=number)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        number, server = self._number, self._server
        how, value = server.ask({"get": number, "name": name})
        return (lambda *given: server.ask({"call": number, "name": name}, *given)) if how == "method" else value


class _Service:
    """A finished part that the exercise may use, asked for on the other side."""

    def __init__(self, server: Server, name: str) -> None:
        self._server, self._name = server, name

    def __call__(self, *given: Any) -> Any:
        return self._server.ask({"service": self._name}, *given)
