"""What a simulation saw, as numbers and as a table."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import NamedTuple

from kvlab.memory import Waste

from .durations import Spread


class Moment(NamedTuple):
    """One moment of a simulation: requests that run, wait and are swapped out; slots that hold tokens, and taken.

    preemptions: how often a request has had to leave so far.
    """

    seconds: float
    running: int
    waiting: int
    swapped: int
    held: int
    taken: int
    preemptions: int = 0


@dataclass(frozen=True)
class Report:
    """What a simulation saw. Times are in simulated seconds.

    seconds: from 0 to the last token. first_token: from arrival to the first token. between: from a token to the next
    of the same request. queueing: from arrival to the first step. running: requests that run, averaged over steps;
    peak: the most at once. recomputed: tokens whose blocks were dropped. waste: shares of the memory, averaged over
    time in which steps ran. timeline: some moments, evenly thinned out. slots: tokens that the memory has room for.
    """

    requests: int
    output_tokens: int
    prompt_tokens: int
    steps: int
    seconds: float
    first_token: Spread
    between: Spread
    queueing: Spread
    running: float
    peak: int
    preemptions: int
    swaps: int
    recomputed: int
    waste: Waste
    timeline: tuple[Moment, ...] = ()
    slots: int = 0

    @property
    def tokens_per_second(self) -> float:
        """Output tokens a second."""
        return self.output_tokens / self.seconds if self.seconds else 0.0

    @property
    def requests_per_second(self) -> float:
        """Requests finished a second."""
        return self.requests / self.seconds if self.seconds else 0.0

    def numbers(self) -> dict[str, float]:
        """Everything but the timeline, flat, for tables and files."""
        found = asdict(self)
        del found["timeline"]
        for name in ("first_token", "between", "queueing"):
            found |= {f"{name}_{key}": value for key, value in found.pop(name)._asdict().items()}
        found |= {f"share_{key}": value for key, value in found.pop("waste").items()}
        return found | {"tokens_per_second": self.tokens_per_second, "requests_per_second": self.requests_per_second}

    def table(self) -> str:
        """The figures that matter most, a line each."""
        return compare({"": self})


ROWS = (
    ("output tokens a second", lambda r: f"{r.tokens_per_second:,.0f}"),
    ("requests a second", lambda r: f"{r.requests_per_second:.2f}"),
    ("steps", lambda r: f"{r.steps:,}"),
    ("requests running, mean and most", lambda r: f"{r.running:.1f}, {r.peak}"),
    ("first token, median and p99 (s)", lambda r: f"{r.first_token.p50:.3f}, {r.first_token.p99:.3f}"),
    ("between tokens, median and p99 (ms)", lambda r: f"{r.between.p50 * 1e3:.1f}, {r.between.p99 * 1e3:.1f}"),
    ("queueing, mean and p99 (s)", lambda r: f"{r.queueing.mean:.3f}, {r.queueing.p99:.3f}"),
    ("preemptions, of which swapped", lambda r: f"{r.preemptions}, {r.swaps}"),
    ("tokens recomputed", lambda r: f"{r.recomputed:,}"),
    ("memory holding tokens", lambda r: f"{r.waste.held:.1%}"),
    ("memory taken and empty", lambda r: f"{r.waste.later + r.waste.internal:.1%}"),
)


def compare(reports: dict[str, Report]) -> str:
    """A table of several reports side by side, each under its name."""
    columns = [[name, *(show(report) for _, show in ROWS)] for name, report in reports.items()]
    widths = [max(map(len, column)) + 2 for column in columns]
    lines = []
    for row, title in enumerate(["", *(title for title, _ in ROWS)]):
        cells = (column[row].rjust(width) for column, width in zip(columns, widths, strict=True))
        lines.append(f"{title:36}" + "".join(cells))
    return "\n".join(line.rstrip() for line in lines if line.strip())
