"""What a verdict says after "Next:", chosen by the kind of failure.

A check's own `next` is advice for a wrong value. Code that printed its result, lost its signature or misspelt a name
needs another word, and gets it here or from where the failure was noticed (`Seen.next`).
"""

from __future__ import annotations

import linecache
import re
import traceback
from collections.abc import Callable
from types import FrameType
from typing import Any

from kvlab import errors
from kvlab.course.declare import Cases, Check, Wrong
from kvlab.course.observe import SLIPS, Seen
from kvlab.course.registry import find, suggestion
from kvlab.course.session import session
from kvlab.course.shorten import clip

IsOwn = Callable[[FrameType], bool]  # whether a frame is of the learner's code

_MODULES = {"np": "import numpy as np", **{name: f"import {name}" for name in (
    "math", "bisect", "heapq", "itertools", "functools", "collections", "random", "operator", "statistics", "torch")}}
_MEMBERS = {"math": ("ceil", "floor", "log2", "sqrt"), "collections": ("deque", "defaultdict", "Counter"),
            "itertools": ("accumulate", "chain", "pairwise"), "functools": ("reduce",),
            "bisect": ("bisect_left", "bisect_right", "insort")}
_IMPORTS = _MODULES | {name: f"from {module} import {name}" for module, names in _MEMBERS.items() for name in names}


def step(seen: Seen, check: Check, is_own: IsOwn) -> str | None:
    """What to do after a failure in which no known mistake was recognised; None if there is nothing to advise."""
    if seen.next:
        return seen.next
    error = seen.error.__cause__ if isinstance(seen.error, Wrong) else seen.error
    if seen.kind == "raised" or isinstance(error, SLIPS):
        return _after_error(error, check, is_own)
    return check.next


def after_time_ran_out(frames: list[tuple[FrameType, int]]) -> str | None:
    """`frames`: the learner's own, the innermost last."""
    return f"see why this goes on: {_quoted(frames[-1])}" if frames else None


def _after_error(error: BaseException | None, check: Check, is_own: IsOwn) -> str | None:
    walked = traceback.walk_tb(error.__traceback__) if error is not None else ()
    own = [place for place in walked if is_own(place[0])]
    if isinstance(error, NameError):
        return _after_name_error(error, own)
    if isinstance(error, SystemExit):
        return "leave out exit(), and return the result"
    if isinstance(error, RecursionError):
        return "give it a case in which it does not call itself"
    if isinstance(error, MemoryError):
        return check.next
    said = str(error)
    if isinstance(error, TypeError) and not own and (called := re.search(r"(\w+)\(\) (takes|missing|got an)", said)):
        method = "__init__" if said.startswith(f"{called[1]}() takes no arguments") else called[1]
        return f"keep the parameters of {method}() as they were"
    if isinstance(error, TypeError) and own and (name := _list_in_place_of_item(said, own[-1][0])):
        return f"{name} is a list: go through its items"
    if isinstance(error, ValueError) and (called := re.search(r"(max|min)\(\).*empty", said)):
        return "treat the empty list first" + (", or give max() a default=0" if called[1] == "max" else "")
    if isinstance(check, Cases) and isinstance(error, (LookupError, ArithmeticError, ValueError)) and check.next:
        return check.next  # such errors depend on the values, and the check knows which
    return f"look at {_quoted(own[-1])}" if own else check.next


def _after_name_error(error: NameError, own: list[tuple[FrameType, int]]) -> str:
    quoted = re.search(r"'(\w+)'", str(error))
    name = error.name or (quoted[1] if quoted else "the name")
    if isinstance(error, UnboundLocalError):
        return f"give {name} a value before it is used"
    if name in _IMPORTS:
        return f"put {_IMPORTS[name]} at the top of the cell"
    if isinstance(getattr(errors, name, None), type):
        return f"put from kvlab.errors import {name} at the top of the cell"
    if (exercise := find(name)) is not None:
        if session().lab in (exercise.lab, None):
            return f"run the lab's first code cell again: it binds {name}"
        module, _, part = exercise.part.rpartition(".")
        return f"put from {module} import {part} at the top of the cell"
    known = own[-1][0].f_locals if own else {}
    if _has(known.get("self"), name):
        return f"write self.{name}"
    near = suggestion(name, known).strip()
    return near or f"give {name} a value first, or look how it is spelt elsewhere"


def _has(thing: Any, name: str) -> bool:
    return name in getattr(thing, "__dict__", {}) or hasattr(type(thing), name)


def _list_in_place_of_item(said: str, frame: FrameType) -> str:
    """The parameter that is a list and was used as if it were one of its items, or an empty string."""
    ends = ("not list", "unhashable type: 'list'", "and 'list'", "'list' and 'int'", 'not "list") to list')
    if not said.endswith(ends):
        return ""
    names = frame.f_code.co_varnames[: frame.f_code.co_argcount]
    lists = [name for name in names if isinstance(frame.f_locals.get(name), list)]
    return lists[0] if len(lists) == 1 and not said.startswith("can only") else ""


def _quoted(place: tuple[FrameType, int]) -> str:
    """"line 3: return a // b"."""
    frame, number = place
    return clip(f"line {number}: {linecache.getline(frame.f_code.co_filename, number).strip()}", 60)
