"""The first feedback: at most 8 lines of at most 110 characters, and what the course remembers of it."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from kvlab.course.guard import Ending
from kvlab.course.shorten import clip

WIDTH = 110
LINES = 8
PASSED, FAILED, UNTOUCHED = "passed", "wrong", "not attempted"


@dataclass(frozen=True)
class Verdict:
    """What a check came to. `status` is PASSED, FAILED or UNTOUCHED; `lines` what the learner reads; `details` what
    help_me() adds; `mistake` the index of the declared mistake it behaves like."""

    name: str
    status: str
    lines: tuple[str, ...]
    details: str = ""
    mistake: int | None = None

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def wrapped(text: str, most: int, first: str = "", rest: str = "  ") -> list[str]:
    """`text` in at most `most` lines, the last one cut if it does not fit."""
    whole = textwrap.wrap(" ".join(text.split()), WIDTH, initial_indent=first, subsequent_indent=rest,
                          break_on_hyphens=False)
    if len(whole) > most:
        whole = [*whole[: most - 1], clip_line(" ".join([whole[most - 1], *whole[most:]]))]
    return whole


def clip_line(line: str) -> str:
    """`line` in at most 110 characters, its indentation kept."""
    inner = line.lstrip()
    return line[: len(line) - len(inner)] + clip(inner, WIDTH - (len(line) - len(inner)))


def untouched(name: str, part: str) -> Verdict:
    """○ the cell is as it came."""
    return Verdict(name, UNTOUCHED, (f"○ {name}: not attempted. The lab goes on with {part}.",))


def passed(name: str, checks: list[str]) -> Verdict:
    """✓ with the names of the checks."""
    return Verdict(name, PASSED, tuple(wrapped(f"✓ {name}: {' · '.join(checks)}", LINES)))


def failed(name: str, title: str, trace: list[str] = [], says: str | None = None, invariant: str | None = None,  # noqa: B006
           next: str | None = None, details: str = "", mistake: int | None = None) -> Verdict:
    """✗ with what was seen, the shortest trace that shows it, what it looks like, and what to do next."""
    number = f"  ({invariant})" if invariant else ""
    head = wrapped("✗ " + title + ("" if says else number), 3)
    body = wrapped(says + number, 2, "  ") if says else []
    advice = clip(f"Next: {next}" + ("" if next.endswith((".", "?")) else "."), WIDTH - 30) + "   " if next else ""
    last = f"  {advice}hint() · help_me()"
    room = LINES - len(head) - len(body) - 1
    return Verdict(name, FAILED, (*head, *fitted(trace, room), *body, last), details, mistake)


def fitted(trace: list[str], room: int) -> list[str]:
    """A trace in at most `room` lines: one operation a line, or several separated by `;`, or with its middle left out."""
    lines = [clip_line("      " + line) for line in trace]
    if len(lines) <= room:
        return lines
    packed = [""]
    for line in trace:
        longer = f"{packed[-1]}; {line}" if packed[-1] else line
        if len(longer) <= WIDTH - 6:
            packed[-1] = longer
        else:
            packed.append(line)
    if len(packed) > room:
        packed = [*packed[: room - 2], f"... {len(packed) - room + 1} more lines, in help_me()", packed[-1]]
    return [clip_line("      " + line) for line in packed]


def of_ending(name: str, ending: Ending, missing: str | None = None) -> Verdict:
    """The verdict on a check that ended, however it ended. `missing`: a method that is still empty, the thing to say first."""
    report = ending.report
    if ending.how == "done" and report.get("passed") is not None:
        return passed(name, report["passed"])
    if ending.how == "interrupted":
        return failed(name, f"{name}: the check was interrupted, so it did not count.")
    if missing:
        return failed(name, f"{name}: {missing}() is not written yet.", details=report.get("details", ""))
    if report:
        return failed(name, report["title"], report["lines"], report["says"], report["invariant"], report["next"],
                      report["details"], report["mistake"])
    reasons = {"late": "did not finish in time, and could not say where it was.",
               "memory": "needed more memory than a check may take (512 MB)."}
    return failed(name, f"{name} {reasons.get(ending.how, 'ended Python itself, so the check could not go on.')}")
