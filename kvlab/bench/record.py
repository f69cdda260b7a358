"""What a benchmark leaves: every number with the machine it was measured on. Plain data, to JSON and back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from kvlab.errors import UsageError

from .cases import Case
from .spread import Spread

FORMAT = 1
KERNEL, CONTIGUOUS, SDPA, GATHER, COPY = "kvlab", "kvlab, contiguous", "SDPA, contiguous", "PyTorch, paged", "copy"


@dataclass(frozen=True)
class Measurement:
    """One system on one case.

    bytes: that it has to move. difference: the largest from PyTorch's result, as a share of the largest number in that;
    None where there is nothing to compare.
    """

    case: Case
    system: str
    bytes: int
    spread: Spread
    difference: float | None = None

    @property
    def rate(self) -> float:
        """Bytes a second, by the median."""
        return self.bytes / self.spread.median


@dataclass(frozen=True)
class LeftOut:
    """What was not measured, and why, in a phrase."""

    case: Case
    system: str
    why: str


@dataclass
class Run:
    """One run of the benchmark on one machine.

    device: name, capability, memory and the like; versions: of what took part; when: UTC, ISO 8601; settings: of the
    timing. `device["name"]` says where the numbers come from, and goes wherever they go.
    """

    device: dict[str, Any]
    versions: dict[str, str]
    when: str
    settings: dict[str, Any] = field(default_factory=dict)
    measurements: list[Measurement] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)

    @property
    def cases(self) -> list[Case]:
        """The cases in the order they came, those of which nothing was measured included."""
        entries: list[Measurement | LeftOut] = [*self.measurements, *self.left_out]
        return list(dict.fromkeys(entry.case for entry in entries))

    def find(self, case: Case, system: str = KERNEL) -> Measurement | None:
        """The measurement of one system on one case, if there is one."""
        return next((found for found in self.measurements if (found.case, found.system) == (case, system)), None)

    def of(self, kind: str, system: str = KERNEL) -> list[Measurement]:
        """All measurements of a system on one kind of case."""
        return [found for found in self.measurements if found.system == system and found.case.kind == kind]

    def to_json(self) -> dict[str, Any]:
        """As JSON holds it."""
        plain = {"format": FORMAT, "kind": "kvlab bench", "when": self.when, "device": self.device}
        plain |= {"versions": self.versions, "settings": self.settings}
        plain["measurements"] = [asdict(found) | {"spread": found.spread._asdict()} for found in self.measurements]
        plain["left_out"] = [asdict(entry) for entry in self.left_out]
        return plain

    @classmethod
    def from_json(cls, data: Any) -> Run:
        """The other way round. What is no run of `FORMAT`, or lacks a field, is refused with `UsageError`."""
        if not isinstance(data, dict) or data.get("kind") != "kvlab bench" or data.get("format") != FORMAT:
            found = data.get("format") if isinstance(data, dict) else type(data).__name__
            raise UsageError(f"this is no kvlab bench of format {FORMAT}, but {found}")
        try:
            measurements = [_measurement(entry) for entry in data["measurements"]]
            left_out = [LeftOut(Case(**entry["case"]), entry["system"], entry["why"]) for entry in data["left_out"]]
            name = data["device"]["name"]
            run = cls(data["device"], data["versions"], data["when"], data["settings"], measurements, left_out)
        except (KeyError, TypeError, AttributeError) as error:
            raise UsageError(f"this kvlab bench is not complete: {type(error).__name__} {error}") from None
        if not (isinstance(name, str) and name):
            raise UsageError("this kvlab bench does not say which device it was measured on")
        return run


def _measurement(entry: dict[str, Any]) -> Measurement:
    fields = entry | {"case": Case(**entry["case"]), "spread": Spread(**entry["spread"])}
    found = Measurement(**fields)
    if not 0 < found.spread.p10 <= found.spread.median <= found.spread.p90 or found.spread.repeats < 1:
        raise UsageError(f"{found.system} on {found.case.name}: {found.spread} is no spread of times")
    return found


def joined(runs: Iterable[Run]) -> Run:
    """Runs of one session as one: the first's machine, everybody's numbers."""
    runs = list(runs)
    first = runs[0]
    measurements = [found for run in runs for found in run.measurements]
    left_out = [entry for run in runs for entry in run.left_out]
    return Run(first.device, first.versions, first.when, first.settings, measurements, left_out)
