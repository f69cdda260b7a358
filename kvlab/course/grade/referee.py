"""The check of one exercise, run here against a stand-in for the part that the learner's process has."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

from kvlab.course import launches
from kvlab.course.checker import Checker
from kvlab.course.declare import Check, Exercise
from kvlab.course.grade import cells, remote
from kvlab.course.grade.connection import Connection
from kvlab.course.interpreter import guarded as interpreted
from kvlab.course.launches import Launches

_TORCH = ("04", "05", "09", "10", "11")  # labs whose parts are watched while they use torch


class Referee(Checker):
    """The check of one exercise. source: the learner's part, of which only the parameters are read here; finished: the
    finished part, whose kind (function, class or kernel) his must be."""

    least = 25  # his part can make the process that checks it work; a right `BlockPool` takes some seconds for so many

    def __init__(self, entry: Exercise, connection: Connection, source: str, finished: Any) -> None:
        node = cells.definition(source)
        signature = _signature(node)
        if isinstance(finished, type):
            part = remote.class_(connection)
        elif hasattr(finished, "fn"):
            part = remote.kernel(signature)
        else:
            part = remote.function(connection, signature, entry.lab in _TORCH)
        super().__init__(_remotely(entry, connection), part)
        self.connection = connection

    def run(self, emit: Callable[[dict[str, Any]], None]) -> None:
        """As `Checker.run`, once the other side has defined the part; if it cannot, that is all there is to say."""
        try:
            self.connection.first()
        except Exception as error:
            said = f"{self.entry.name} could not be defined: {type(error).__name__}: {str(error)[:160]}"
            return emit({"passed": None, "title": said, "mistake": None})
        super().run(emit)


def _remotely(entry: Exercise, connection: Connection) -> Exercise:
    """`entry` with checks that launch a learner's kernel on the other side."""
    return dataclasses.replace(entry, checks=tuple(_launched(check, connection) for check in entry.checks))


def _launched(check: Check, connection: Connection) -> Check:
    if not isinstance(check, Launches):
        return check
    check.prepare()
    build, there = check.build, remote.runner(connection)

    def run(part: Any, value: Any) -> None:
        launches.run(part, build(value), there if getattr(part, "elsewhere", False) else interpreted)

    return dataclasses.replace(check, run=run)


def _signature(node: cells.Node) -> inspect.Signature:
    """A function's parameters, read off its text. Their defaults stay where they are: here only their number counts."""
    if isinstance(node, cells.ast.ClassDef):
        return inspect.Signature()
    kinds, given = inspect.Parameter, node.args
    positional = [*given.posonlyargs, *given.args]
    bare = len(positional) - len(given.defaults)
    found = [kinds(one.arg, kinds.POSITIONAL_ONLY if place < len(given.posonlyargs) else kinds.POSITIONAL_OR_KEYWORD,
                   default=kinds.empty if place < bare else None) for place, one in enumerate(positional)]
    found += [kinds(given.vararg.arg, kinds.VAR_POSITIONAL)] if given.vararg else []
    found += [kinds(one.arg, kinds.KEYWORD_ONLY, default=kinds.empty if default is None else None)
              for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    found += [kinds(given.kwarg.arg, kinds.VAR_KEYWORD)] if given.kwarg else []
    return inspect.Signature(found)
