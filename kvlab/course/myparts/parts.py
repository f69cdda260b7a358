"""The learner's parts on duty: every call is timed, compared with the finished part, and answered by that if wrong.

A part that fails once is off duty from then on. What is wrong is said in one sentence, and the very call in which it
showed is answered by the finished part, so that nothing wrong gets any further.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from kvlab.course import registry
from kvlab.course.myparts import load, wording
from kvlab.course.myparts.roles import ROLES, suspects
from kvlab.course.myparts.watch import timed
from kvlab.course.observe import attempt, raised
from kvlab.course.say import paragraph, say
from kvlab.course.shorten import call_text, clip
from kvlab.course.tape import Tape, recording
from kvlab.errors import InvariantBroken

PURE = ("blocks_needed", "slot_mapping", "gather_kv", "longest_hit", "evict")
"""Parts that others may call by name: each such call is watched like the engine's own."""


class Fault(NamedTuple):
    """What was wrong with the learner's `part`. sentence: what was called and what was seen. invariant: which one that
    breaks, or ""."""

    part: str
    sentence: str
    invariant: str = ""

    @property
    def text(self) -> str:
        """As it is printed: the sentence, and what the engine goes on with."""
        cited = f" ({self.invariant})" if self.invariant else ""
        entry = registry.find(self.part)
        finished = entry.part if entry is not None else "the finished part"
        return paragraph(f"✗ Your {clip(self.sentence, 400)}{cited} The engine goes on with {finished}.")


class Parts:
    """The learner's parts `mine`, by exercise; the finished ones in the place of all others.

    quiet: nothing is printed when a part goes off duty. `faults` has what was said either way; `remarks` why a part is
    not used although nothing is wrong with it; `calls` how often each was called.
    """

    def __init__(self, mine: Mapping[str, Any], quiet: bool = False) -> None:
        self.quiet = quiet
        self.faults: list[Fault] = []
        self.remarks: dict[str, str] = {}
        self._given = {name: None for name in ROLES if name in mine}
        self.calls: Counter[str] = Counter()
        self._tape, self._depth, self._said = Tape(), 0, 0
        self.mine: dict[str, Any] = {}
        for name in self._given:
            self._load(name, mine[name])

    def _load(self, name: str, part: Any) -> None:
        stand_ins = {other: self._stand_in(other) for other in PURE if other != name}
        if name == "radix_insert":
            stand_ins["radix_match"] = self._matches
        try:
            loads = load.from_source if isinstance(part, str) else load.from_notebook
            self.mine[name] = loads(name, part, stand_ins)
        except load.CannotLoad as why:
            self.blame(name, f"{name} cannot be used: {why}.")

    def _matches(self, root: Any, tokens: Any) -> Any:
        from kvlab.course.myparts.trees import matched

        return matched(self, root, tokens)

    def _stand_in(self, name: str) -> Callable[..., Any]:
        return lambda *args, **named: self.pure(name, *args, **named)

    @property
    def active(self) -> list[str]:
        """The learner's parts that are on duty, in the order of the labs."""
        return [name for name in self._given if name in self.mine]

    def whose(self, name: str) -> str:
        """Whose part this is, and why: "yours", or "finished: ..."."""
        if name in self.mine:
            return "yours"
        if any(fault.part == name for fault in self.faults):
            return "finished: yours failed"
        return "finished" + (f": {self.remarks[name]}" if name in self.remarks else ": not passed yet")

    @staticmethod
    @functools.cache
    def finished(name: str) -> Any:
        """The finished part."""
        entry = registry.find(name)
        assert entry is not None
        return registry.part_of(entry)

    def blame(self, name: str, sentence: str, invariant: str = "") -> None:
        """Take a part off duty, and say why. One that is off duty already: nothing."""
        if name in self.mine or not any(fault.part == name for fault in self.faults):
            self.mine.pop(name, None)
            self.faults.append(Fault(name, sentence, invariant))
            self._say()

    def _say(self) -> None:
        """Print what has not been said yet; what a part prints is kept away meanwhile, and that would be too."""
        while not self._depth and self._said < len(self.faults):
            self._said += 1
            if not self.quiet:
                say(self.faults[self._said - 1].text)

    def set_aside(self, name: str, why: str) -> None:
        """Take a part off duty for which there is nothing to do here, such as a kernel that cannot do these sizes."""
        if self.mine.pop(name, None) is not None:
            self.remarks[name] = why

    def attempt(self, name: str, call: Callable[[], Any]) -> tuple[Any, BaseException | None]:
        """What `call`, into the part `name`, returns, or what it raises; `TooLong` if it does not end."""
        outer, self._depth = self._depth == 0, self._depth + 1
        self.calls[name] += 1
        try:
            if outer:
                with recording(self._tape):
                    return _tried(call, ROLES[name].seconds)
            return _tried(call, ROLES[name].seconds)
        finally:
            self._depth -= 1
            self._say()

    def pure(self, name: str, /, *args: Any, **named: Any) -> Any:
        """The answer of a part that changes nothing, compared with that of the finished part, whose refusals are raised
        whatever the learner's did."""
        finished = self.finished(name)
        if name not in self.mine:
            return finished(*args, **named)
        wanted, refusal = attempt(lambda: finished(*_copies(args), **named))
        part, given = self.mine[name], _copies(args)
        got, error = self.attempt(name, lambda: part(*given, **named))
        wrong = wording.wrong_answer(wanted, refusal, got, error) or wording.changed(finished, args, given)
        if wrong:
            where = call_text(name, finished, (*args, *named.values()))
            self.blame(name, f"{where} {wrong}", next(iter(ROLES[name].invariants), ""))
        if refusal is not None:
            raise refusal
        return wanted if wrong else got

    def failed(self, trouble: Exception) -> bool:
        """Something went wrong that no single call has shown. The likeliest part goes off duty; False if none is
        left, or if the machine is at fault (no memory, no file)."""
        if isinstance(trouble, RuntimeError | MemoryError | OSError):
            return False
        invariant = trouble.invariant if isinstance(trouble, InvariantBroken) else ""
        among = suspects(invariant, self.active)
        if not among:
            return False
        what = f"{invariant} does not hold after a step" if invariant else f"a step {raised(trouble)}"
        detail = f": {clip(str(trouble).partition(': ')[2], 160)}" if invariant else ""
        others = f" It may also be {', '.join(among[1:4])}; {among[0]} goes first." if len(among) > 1 else ""
        self.blame(among[0], f"{among[0]} is suspected, since {what}{detail}.{others}", invariant)
        return True


def _tried(call: Callable[[], Any], seconds: float) -> tuple[Any, BaseException | None]:
    try:
        return timed(call, seconds), None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return None, error


def _copies(args: tuple[Any, ...]) -> list[Any]:
    """Lists and dictionaries anew, so that a part cannot change the engine's own."""
    return [list(arg) if type(arg) is list else dict(arg) if type(arg) is dict else arg for arg in args]
