"""Which declared mistake a wrong answer behaves like."""

from __future__ import annotations

from kvlab.course.declare import Exercise
from kvlab.course.observe import Probe, Seen
from kvlab.course.tape import Tape

Evidence = tuple[Probe, Seen]


def behaves_like(entry: Exercise, evidence: list[Evidence]) -> int | None:
    """The index of the mistake that explains the evidence, or None. The first declared one if several explain it
    equally.

    A mistake explains a wrong answer if it shows the same wherever the answer is wrong. One that also agrees everywhere
    else is taken first. One that goes wrong where the answer is right is only taken if the answer shares at least half
    of its faults: two formulas that happen to meet in one point are not the same thought.
    """
    candidates: list[tuple[float, int]] = []
    for index, mistake in enumerate(entry.mistakes):
        shared = _share_of_its_faults(mistake.code, evidence)
        if shared == 1.0:
            return index
        if shared >= 0.5:
            candidates.append((-shared, index))
    return min(candidates)[1] if candidates else None


def _share_of_its_faults(code: object, evidence: list[Evidence]) -> float:
    """Of the probes on which `code` is wrong, the share on which the answer is wrong too. 0 if it differs from the
    answer anywhere that the answer is wrong."""
    tape, faults, shared = Tape(), 0, 0
    for probe, seen in sorted(evidence, key=lambda one: one[1].right):  # the wrong ones first: they rule out most
        other = probe.see(code, tape)
        if not seen.right and not seen.like(other):
            return 0.0
        faults += not other.right
        shared += not seen.right
    return shared / faults if faults else 0.0
