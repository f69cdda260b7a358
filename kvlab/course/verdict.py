"""The first feedback: at most 8 lines of at most 110 characters, and what the course remembers of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kvlab.course.guard import Ending, Report
from kvlab.course.say import WIDTH, clip_line, wrapped
from kvlab.course.shorten import clip

LINES = 8
_TRACE = 3  # lines of a trace that matter more than the end of a long advice
_ASK = "hint() · help_me()"
PASSED, FAILED, UNTOUCHED = "passed", "wrong", "not attempted"
CHANGED = "passed, but changed since: what is here now is wrong"  # in overviews


@dataclass(frozen=True)
class Verdict:
    """What a check came to. `status`: PASSED, FAILED or UNTOUCHED; `lines`: what the learner reads; `details`: what
    help_me() shows; `mistake`: the index of the declared mistake it behaves like; `advice`: what to do next, in full,
    as "Next: ...", or empty."""

    name: str
    status: str
    lines: tuple[str, ...]
    details: str = ""
    mistake: int | None = None
    advice: str = ""

    @property
    def text(self) -> str:
        """The lines as they are printed."""
        return "\n".join(self.lines)


def untouched(name: str, part: str) -> Verdict:
    """○ the cell is as it came."""
    lines = wrapped(f"○ {name}: not attempted. The lab goes on with {part}.", LINES)
    return Verdict(name, UNTOUCHED, tuple(lines))


def passed(name: str, checks: Sequence[str]) -> Verdict:
    """✓ with the names of the checks."""
    return Verdict(name, PASSED, tuple(wrapped(f"✓ {name}: {' · '.join(checks)}", LINES)))


def failed(name: str, title: str, trace: Sequence[str] = (), says: str | None = None, invariant: str | None = None,
           next: str | None = None, details: str = "", mistake: int | None = None, part: str = "") -> Verdict:
    """✗ with what was seen, the shortest trace that shows it, what it looks like, and what to do next.

    Where no known mistake was recognised, a learner goes on trying things out in other cells, so there `part` says what
    the name means meanwhile."""
    head = _headline(title)
    body = wrapped(says, 2, "  ") if says else []
    _cite(body or head, invariant)
    if part and not body:
        meanwhile = f"Until it passes, {name} means {part} in the other cells."
        short = f"Until it passes, the other cells use {part}."  # a kernel's name is long, and stands in its part's too
        body = wrapped(meanwhile if len(meanwhile) <= WIDTH - 2 else short, 1, "  ")
    advice = _advice(next)
    room = LINES - len(head) - len(body) - 1
    last = _asking(advice, 2 if room > min(len(trace), _TRACE) else 1)
    shown = fitted(trace, LINES - len(head) - len(body) - len(last))
    return Verdict(name, FAILED, (*head, *shown, *body, *last), details, mistake, advice)


def _headline(title: str) -> list[str]:
    """The first sentence in at most 3 lines; one that does not fit on a line breaks where the expectation begins."""
    whole = wrapped(f"✗ {title}", 3)
    seen, comma, expected = title.rpartition(", expected ")
    if len(whole) == 1 or not comma:
        return whole
    head = wrapped(f"✗ {seen},", 2)
    return [*head, *wrapped(f"expected {expected}", 3 - len(head), "  ")]


def _cite(lines: list[str], invariant: str | None) -> None:
    """Puts the number of the invariant behind the last line, if there is room for it."""
    if invariant and len(lines[-1]) + len(invariant) + 4 <= WIDTH:
        lines[-1] += f"  ({invariant})"


def _advice(next: str | None) -> str:
    if not next:
        return ""
    stop = "" if next.endswith((".", "?")) else "."
    return f"Next: {next}{stop}"


def _asking(advice: str, most: int) -> list[str]:
    """The last lines: what to do next, and what can be asked. On one line the advice may have to be cut; help_me() has
    all of it."""
    one = f"  {advice}   {_ASK}" if advice else f"  {_ASK}"
    if len(one) <= WIDTH:
        return [one]
    if most == 1:
        return [f"  {clip(advice, WIDTH - 30)}   {_ASK}"]
    first, *rest = wrapped(advice, 2, "  ", "    ")
    second = f"{rest[0]}   " if rest else "    "
    room = WIDTH - len(_ASK)
    return [first, (second if len(second) <= room else f"{second[: room - 7].rstrip()} ...   ") + _ASK]


def fitted(trace: Sequence[str], room: int) -> list[str]:
    """A trace in at most `room` lines: one operation a line, or several on one, or with the middle left out."""
    lines = list(trace) if len(trace) <= room else _packed(trace)
    if len(lines) > room:
        lines = [*lines[: room - 2], f"... {len(lines) - room + 1} more lines: help_me() shows them", lines[-1]]
    return [clip_line(f"      {line}") for line in lines]


def _packed(trace: Sequence[str]) -> list[str]:
    packed = [""]
    for line in trace:
        longer = f"{packed[-1]}; {line}" if packed[-1] else line
        if len(longer) <= WIDTH - 6:
            packed[-1] = longer
        else:
            packed.append(line)
    return packed


def of_ending(name: str, ending: Ending, part: str = "") -> Verdict:
    """The verdict on a check, however it ended. `part`: the finished part's dotted name."""
    report = ending.report
    if ending.how == "done" and report.get("passed") is not None:
        return passed(name, report["passed"])
    if ending.how == "interrupted":
        return failed(name, f"{name}: the check was interrupted, so it did not count.")
    if "title" in report:
        return _of_report(name, report, part)
    return failed(name, f"{report.get('trying', name)} {_reason(ending.how)}.", part=part)


def _of_report(name: str, report: Report, part: str) -> Verdict:
    return failed(name, report["title"], report["lines"], report["says"], report["invariant"], report["next"],
                  report["details"], report["mistake"], part)


def _reason(how: str) -> str:
    """Why a check ended without a word from itself."""
    reasons = {"late": "did not finish in time, and nothing could interrupt it",
               "memory": "needed more memory than a check may take",
               "crashed": "crashed Python itself"}
    return reasons.get(how, "ended Python itself, as os._exit() does, so the check could not go on")
