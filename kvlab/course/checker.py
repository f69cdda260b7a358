"""Checks one part against everything its exercise declares, and looks for the mistake it behaves like.

`Checker` is the `Work` that runs under guard. What it finds leaves it as plain data, a `Report`:
    passed: the names of the checks that hold, or None
    title, sentence, lines: what failed, in words and as a trace
    says, invariant, next: what to say about it
    works: for a class of which a method is not written yet, the checks that hold already
    mistake: which declared mistake it behaves like, or None
    details: what help_me() shows
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

from kvlab.course import advice, details
from kvlab.course.calls import case_probe
from kvlab.course.declare import Cases, Exercise, Property, Traces, Wrong
from kvlab.course.guard import Emit, Report
from kvlab.course.matching import Evidence, behaves_like
from kvlab.course.observe import SLIPS, Probe, Seen, run_probe
from kvlab.course.registry import part_of
from kvlab.course.source import codes_of
from kvlab.course.stubs import called, stubbed
from kvlab.course.tape import Tape, recording
from kvlab.course.traces import search, trace_probe


class Checker:
    """Checks `part` as a solution of `entry`. `names`: the learner's namespace, in which the exercise's name means
    `part` while the check runs, so that a function that calls itself calls itself and not the finished part.
    `unwritten`: methods of a class that are still empty. What needs them is said after everything else. `least`: random
    traces of each check that are tried whatever they cost."""

    least = 0

    def __init__(self, entry: Exercise, part: Any, names: dict[str, Any] | None = None,
                 unwritten: Sequence[str] = ()) -> None:
        self.entry, self.part, self.unwritten = entry, part, unwritten
        self.names = {} if names is None else names
        self._files = {code.co_filename for code in codes_of(part)}
        self.tape = Tape()
        self.current: Probe | None = None
        self.matching = False
        self._report: Report = {}

    def is_own(self, frame: FrameType) -> bool:
        """Whether a frame is of the learner's code: of the part's own file or cell, or of another cell."""
        return frame.f_globals is self.names or frame.f_code.co_filename in self._files

    @contextmanager
    def setting(self) -> Iterator[None]:
        name, missing = self.entry.name, object()
        before = self.names.get(name, missing)
        self.names[name] = self.part
        try:
            with recording(self.tape), stubbed(self.part, self.unwritten):
                yield
        finally:
            if before is missing:
                self.names.pop(name, None)
            else:
                self.names[name] = before

    def run(self, emit: Emit) -> None:
        evidence: list[Evidence] = []
        for probe in fixed_probes(self.entry):
            emit({"trying": probe.title})
            evidence.append((probe, self._see(probe)))
            if isinstance(evidence[-1][1].error, MemoryError):
                break  # the next one would take as long to fail
        if all(seen.right for _, seen in evidence):
            evidence += self._search()
        wrong = [(probe, seen) for probe, seen in evidence if seen.kind not in ("right", "missing")]
        if not wrong:
            return emit(self._unfinished(evidence) or {"passed": [check.name for check in self.entry.checks]})
        first = smallest_like_the_first(wrong)
        emit(self._failed(*first))
        self.matching = True
        found = behaves_like(self.entry, [(probe, seen) for probe, seen in evidence if seen.kind != "missing"])
        if found is not None:
            emit(self._failed(*first, found))

    def _see(self, probe: Probe) -> Seen:
        self.current = probe
        seen = probe.see(self.part, self.tape)
        name = absent(seen.error, self.part, self.entry)
        return Seen("missing", name, error=seen.error) if name else seen

    def _unfinished(self, evidence: list[Evidence]) -> Report | None:
        """What is still to be written, and which checks hold without it. None if nothing is missing."""
        lacking = [(probe.check, seen.sentence) for probe, seen in evidence if seen.kind == "missing"]
        if not lacking:
            return None
        open_ = {id(check) for check, _ in lacking}
        tried = {id(probe.check) for probe, _ in evidence}
        works = [check.name for check in self.entry.checks if id(check) in tried - open_]
        so_far = f" Right so far: {' · '.join(works)}." if works else ""
        sentence = f"{self.entry.name}: {lacking[0][1]} is not written yet.{so_far}"
        return {"passed": None, "title": sentence, "lines": [], "mistake": None, "says": None, "invariant": None,
                "next": f"write {lacking[0][1]}", "details": ""}

    def _search(self) -> list[Evidence]:
        """Random traces, once the fixed probes hold: the first check that fails, with its shortest trace."""
        for check in self.entry.checks:
            if isinstance(check, Traces) and check.make is not None:
                self.current = run_probe(check, self.entry.name)
                found = search(check, self.entry.name, self.part, self.tape, self.least)
                if found is not None:
                    return [found]
        return []

    def _failed(self, probe: Probe, seen: Seen, mistake: int | None = None) -> Report:
        known = None if mistake is None else self.entry.mistakes[mistake]
        blamed, sentence = known or probe.check, title(probe, seen)
        says, after = (known.says, known.next or probe.check.next) if known else (None, None)
        slip = known is None and seen.kind == "raised" and isinstance(seen.error, SLIPS)
        self._report = {
            "passed": None, "title": sentence, "lines": seen.lines, "mistake": mistake,
            "says": says, "invariant": None if slip else blamed.invariant or probe.check.invariant,
            "next": after or advice.step(seen, probe.check, self.is_own),
            "details": details.text(sentence, seen, self.is_own, says),
        }
        return self._report

    def late(self, frame: FrameType | None) -> Report:
        if self.matching or self.current is None:
            return self._report
        seen = Seen("late", f"did not finish within {self.entry.seconds:g} s.", printed=self.tape.text)
        seen.next = advice.after_time_ran_out(details.own_frames(frame, self.is_own))
        where = details.where(title(self.current, seen), seen, frame, self.is_own)
        return self._failed(self.current, seen) | {"details": where}


def title(probe: Probe, seen: Seen) -> str:
    """The first sentence of a verdict: the call, or the exercise's name, and what was seen."""
    if isinstance(probe.check, Cases):
        start = probe.title.split("(")[0] if seen.kind == "wrong" else probe.title
        return f"{start} {seen.sentence}"
    return f"{probe.title}{':' if seen.kind == 'wrong' else ''} {seen.sentence}"


def smallest_like_the_first(wrong: list[Evidence]) -> Evidence:
    """Of the cases that fail in the same check and in the same way as the first, the one with the smallest numbers."""
    check, first = wrong[0][0].check, wrong[0][1]
    alike = [one for one in wrong if one[0].check is check and one[1].kind == first.kind
             and type(one[1].error) is type(first.error)]
    return min(alike, key=lambda one: size(one[0].args)) if isinstance(check, Cases) else wrong[0]


def size(value: Any) -> float:
    """How much there is to read and to count in the arguments of a case."""
    if isinstance(value, (list, tuple, range)):
        return len(value) + sum(map(size, value))
    return abs(value) if isinstance(value, (int, float)) else 0


def absent(error: BaseException | None, part: Any, entry: Exercise) -> str:
    """The public name, such as "take()", that the learner's class lacks and the check asked for, or an empty string."""
    error = error.__cause__ if isinstance(error, Wrong) else error
    if not isinstance(error, AttributeError) or not isinstance(part, type) or not isinstance(error.obj, part):
        return ""
    finished, name = part_of(entry), error.name or ""
    return called(finished, name) if name and hasattr(finished, name) and not name.startswith("_") else ""


def fixed_probes(entry: Exercise) -> list[Probe]:
    """Everything that is tried each time in the same way, in the order of the declaration."""
    finished, probes = part_of(entry), []
    for check in entry.checks:
        if isinstance(check, Cases):
            probes += [case_probe(entry.name, finished, check, args) for args in check.calls]
        elif isinstance(check, Property):
            probes.append(run_probe(check, entry.name))
        else:
            probes += [trace_probe(check, entry.name, value) for value in check.examples]
    return probes
