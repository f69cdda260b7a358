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
    of its faults: two formulas that happen to meet in one point are not the same thought. Whoever has not come to the
    later checks yet is wrong there too: then the checks up to the first that fails decide, if two faults in it agree.
    """
    found = _best(entry, evidence, enough=0.5)
    if found is not None:
        return found
    begun = up_to_the_first_failing_check(evidence)
    faults = sum(_tells(seen) for _, seen in begun)
    return _best(entry, begun, enough=1.0) if 2 <= faults and len(begun) < len(evidence) else None


def _tells(seen: Seen) -> bool:
    """Whether a fault says much about the thought behind it: many codes raise the same, or return a wrong type."""
    return not seen.right and seen.kind != "raised" and not (seen.kind == "value" and seen.next)


def up_to_the_first_failing_check(evidence: list[Evidence]) -> list[Evidence]:
    """The evidence of the checks in their order, up to the end of the first one in which something is wrong."""
    failing = next(probe.check for probe, seen in evidence if not seen.right)
    last = max(place for place, (probe, _) in enumerate(evidence) if probe.check is failing)
    return evidence[: last + 1]


def _best(entry: Exercise, evidence: list[Evidence], enough: float) -> int | None:
    """The mistake that explains the evidence best; its share of shared faults is at least `enough`."""
    candidates: list[tuple[float, int]] = []
    for index, mistake in enumerate(entry.mistakes):
        shared = _share_of_its_faults(mistake.code, evidence)
        if shared == 1.0:
            return index
        if shared >= enough:
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
