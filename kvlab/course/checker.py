"""Checks one part against everything its exercise declares, and looks for the mistake it behaves like.

`Checker` is the `Work` that runs under guard. What it finds leaves it as plain data, a `Report`:
    passed: the names of the checks that hold, or None
    title, sentence, lines: what failed, in words and as a trace
    says, invariant, next: what to say about it
    mistake: which declared mistake it behaves like, or None
    details: what help_me() shows
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from kvlab.course import details
from kvlab.course.calls import case_probe
from kvlab.course.declare import Cases, Exercise, Property, Traces
from kvlab.course.guard import Emit, Report
from kvlab.course.matching import Evidence, behaves_like
from kvlab.course.observe import Probe, Seen, run_probe
from kvlab.course.registry import part_of
from kvlab.course.source import codes_of
from kvlab.course.tape import Tape, recording
from kvlab.course.traces import search, trace_probe


class Checker:
    """Checks `part` as a solution of `entry`. `names`: the learner's namespace, in which the exercise's name means
    `part` while the check runs, so that a function that calls itself calls itself and not the finished part."""

    def __init__(self, entry: Exercise, part: Any, names: dict[str, Any] | None = None) -> None:
        self.entry, self.part = entry, part
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
            with recording(self.tape):
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
        first = next(((probe, seen) for probe, seen in evidence if not seen.right), None)
        if first is None:
            return emit({"passed": [check.name for check in self.entry.checks]})
        emit(self._failed(*first))
        self.matching = True
        found = behaves_like(self.entry, evidence)
        if found is not None:
            emit(self._failed(*first, found))

    def _see(self, probe: Probe) -> Seen:
        self.current = probe
        return probe.see(self.part, self.tape)

    def _search(self) -> list[Evidence]:
        """Random traces, once the fixed probes hold: the first check that fails, with its shortest trace."""
        for check in self.entry.checks:
            if isinstance(check, Traces):
                self.current = run_probe(check, self.entry.name)
                probe = search(check, self.entry.name, self.part, self.tape)
                if probe is not None:
                    return [(probe, self._see(probe))]
        return []

    def _failed(self, probe: Probe, seen: Seen, mistake: int | None = None) -> Report:
        blamed = probe.check if mistake is None else self.entry.mistakes[mistake]
        sentence = title(probe, seen)
        self._report = {
            "passed": None, "title": sentence, "lines": seen.lines, "mistake": mistake,
            "says": None if mistake is None else self.entry.mistakes[mistake].says,
            "invariant": blamed.invariant or probe.check.invariant, "next": blamed.next or probe.check.next,
            "missing": getattr(seen.error, "name", None) if isinstance(seen.error, AttributeError) else None,
            "details": details.text(sentence, seen, self.is_own),
        }
        return self._report

    def late(self, frame: FrameType | None) -> Report:
        if self.matching or self.current is None:
            return self._report
        seen = Seen("late", f"did not finish within {self.entry.seconds:g} s.", printed=self.tape.text)
        where = details.where(title(self.current, seen), seen, frame, self.is_own)
        return self._failed(self.current, seen) | {"details": where}


def title(probe: Probe, seen: Seen) -> str:
    """The first sentence of a verdict: the call, or the exercise's name, and what was seen."""
    if isinstance(probe.check, Cases):
        start = probe.title.split("(")[0] if seen.kind == "wrong" else probe.title
        return f"{start} {seen.sentence}"
    return f"{probe.title}{':' if seen.kind == 'wrong' else ''} {seen.sentence}"


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
