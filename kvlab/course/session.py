"""What this kernel knows: the verdicts since it started, and the learner's record in the file."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any

from kvlab.course import state
from kvlab.course.declare import Exercise
from kvlab.course.source import Source
from kvlab.course.verdict import FAILED, PASSED, UNTOUCHED, Verdict

_ATTEMPTS = 200  # kept per exercise, the latest ones
_SOURCE = 20_000  # characters of a source that are kept


@dataclass
class Session:
    """Verdicts by exercise name, the last one checked, the lab that is open, the progress file, and remarks that are
    made only once."""

    progress: state.Progress
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    last: str | None = None
    lab: str | None = None  # the one that was opened last
    said: list[str] = field(default_factory=list)

    def note(self, entry: Exercise, verdict: Verdict, source: Source | None, seconds: float) -> None:
        """Remembers a verdict, in this session and in the file."""
        self.verdicts[entry.name], self.last = verdict, entry.name
        if verdict.status != UNTOUCHED:
            text = source.text[:_SOURCE] if source else ""
            self.progress.change(lambda all_: _record(all_, entry, verdict, text, seconds))

    def tick(self, entry: Exercise, what: str) -> None:
        """Records that a hint or a solution ("hints", "solutions") was looked at."""
        self.progress.change(lambda all_: record_of(all_, entry).setdefault(what, []).append(state.now()))


def record_of(all_: state.State, entry: Exercise) -> dict[str, Any]:
    """The record of one exercise in the state, made if there is none."""
    return all_["exercises"].setdefault(entry.name, {"lab": entry.lab})


def _record(all_: state.State, entry: Exercise, verdict: Verdict, text: str, seconds: float) -> None:
    record, at = record_of(all_, entry), state.now()
    if text and text == record.get("caught_up_source"):
        return  # the course's own solution, which `kvlab catch-up` put there: no try of the learner's, and no pass
    if text and _ran_again(record, verdict, text):
        return
    mistake = None if verdict.mistake is None else entry.mistakes[verdict.mistake].says
    attempt = {"at": at, "passed": verdict.status == PASSED, "mistake": mistake, "seconds": round(seconds, 2)}
    if verdict.status == FAILED:
        attempt["said"] = verdict.lines[0]
    record["attempts"] = [*record.get("attempts", []), attempt][-_ATTEMPTS:]
    record["tries"] = record.get("tries", 0) + 1
    record["source"] = text
    if verdict.status == PASSED:
        record["passed_at"], record["passed_source"] = at, text


def _ran_again(record: dict[str, Any], verdict: Verdict, text: str) -> bool:
    """Whether the same code passed last time too, as after a restart of the kernel: that is no new try."""
    last = record.get("attempts", [])[-1:]
    return verdict.status == PASSED and text == record.get("passed_source") and bool(last and last[0].get("passed"))


@functools.cache
def session() -> Session:
    """The session of this kernel. The place of the progress file is settled when it is first asked for."""
    return Session(state.Progress(state.default_path()))


def restart() -> Session:
    """A new session, as after a kernel restart: for tests."""
    session.cache_clear()
    return session()
