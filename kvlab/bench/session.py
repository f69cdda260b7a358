"""A whole run: every case, every system, within a time and a memory that are given."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from kvlab.errors import KVLabError

from .cases import Case
from .record import LeftOut, Measurement, Run
from .spread import LEAST, MOST, WARM_UP, Clock, timed
from .where import why_not

if TYPE_CHECKING:
    import torch

    from kvlab.compute import PagedAttention

    from .inputs import Inputs
    from .systems import System

EVERYTHING = "everything"  # in the place of a system: the whole case was left out
FAILED = "it failed"  # how the reason begins where something was tried and broke
SHARE = 0.8  # of the memory that is free


def measure(
    cases: Iterable[Case],
    *,
    attention: Mapping[str, PagedAttention] | None = None,
    seconds: float = 270.0,
    each: float = 0.05,
    memory: float | None = None,
    tell: Callable[[str], None] = lambda line: None,
    device: torch.device | str | None = None,
    clock: Clock | None = None,
    systems: Mapping[str, Mapping[str, System]] | None = None,
) -> Run:
    """Time every system on every case. On a GPU; where there is none, `KVLabError` says so in a sentence.

    attention: more systems for decode and prefill, name -> a function with the arguments of
    `kvlab.compute.paged_attention`, such as a learner's. seconds: after so many no new case is begun; the rest is in
    `left_out`. each: seconds that one system's repeats take on one case, about. memory: bytes of the device that a case
    may take; default `SHARE` of what is free. tell: is given a line for each case. device, clock, systems: for other
    devices, with the clock that fits; `systems` is kind -> name -> system.
    """
    began = time.monotonic()
    if device is None and (obstacle := why_not()) is not None:
        raise KVLabError(f"kvlab bench {obstacle}")
    run, session = _start(device, clock, systems, attention, each)
    room = memory if memory is not None else session.free_memory()
    for number, case in enumerate(cases := list(cases), 1):
        why = _obstacle(case, room, time.monotonic() - began, seconds)
        if why is None:
            tell(f"{number} of {len(cases)}: {case.name}")
            session.take(case, run)
        else:
            run.left_out.append(LeftOut(case, EVERYTHING, why))
    return run


def _obstacle(case: Case, room: float | None, spent: float, seconds: float) -> str | None:
    if spent >= seconds:
        return f"the {seconds:g} seconds were over; compiled kernels are kept, so that another run gets further"
    if room is not None and case.room > room:
        return f"it takes up to {case.room / 2**30:.1f} GiB of device memory, and {room / 2**30:.1f} may be used"
    return None


def _start(
    device: torch.device | str | None,
    clock: Clock | None,
    systems: Mapping[str, Mapping[str, System]] | None,
    attention: Mapping[str, PagedAttention] | None,
    each: float,
) -> tuple[Run, _Session]:
    """An empty run with what there is to say of this machine, and what fills it. Imports torch."""
    import torch

    from .gpu import CudaClock
    from .machine import device_facts, now, versions
    from .systems import SYSTEMS, paged

    device = torch.device(device or torch.device("cuda", torch.cuda.current_device()))
    more = {name: paged(function) for name, function in (attention or {}).items()}
    chosen = {kind: dict(known) for kind, known in (systems or SYSTEMS).items()}
    for kind in ("decode", "prefill"):
        chosen[kind] = chosen.get(kind, {}) | more
    settings = {"warm_up": WARM_UP, "repeats": [LEAST, MOST], "seconds_each": each}
    settings |= {"clock": type(clock).__name__ if clock else CudaClock.__name__}
    run = Run(device_facts(device), versions(device), now(), settings)
    return run, _Session(device, clock or CudaClock(device), chosen, each)


class _Session:
    """Times the systems of one case after the other."""

    def __init__(
        self, device: torch.device, clock: Clock, systems: Mapping[str, Mapping[str, System]], each: float
    ) -> None:
        self.device, self.clock, self.systems, self.each = device, clock, systems, each

    def free_memory(self) -> float | None:
        """Bytes of the device that a case may take; None where nobody can tell."""
        from .machine import free_memory

        free = free_memory(self.device)
        return None if free is None else SHARE * free

    def take(self, case: Case, run: Run) -> None:
        """All systems on one case. What fails costs a line in `left_out`, not the run."""
        import torch

        with torch.inference_mode():
            try:
                self._take(case, run)
            except Exception as error:  # the case's own tensors, mostly: not enough memory
                run.left_out.append(LeftOut(case, EVERYTHING, _failure(error)))
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def _take(self, case: Case, run: Run) -> None:
        from .inputs import Inputs
        from .systems import reference

        inputs = Inputs(case, self.device)
        wanted = reference(inputs).float()
        for name, system in self.systems[case.kind].items():
            try:
                found = self._time(name, system, inputs, wanted)
            except Exception as error:  # whatever a kernel under test does, the other systems are measured
                found = LeftOut(case, name, _failure(error))
            if isinstance(found, Measurement):
                run.measurements.append(found)
            else:
                run.left_out.append(found)

    def _time(self, name: str, system: System, inputs: Inputs, wanted: torch.Tensor) -> Measurement | LeftOut:
        prepared = system(inputs)
        if isinstance(prepared, str):
            return LeftOut(inputs.case, name, prepared)
        difference = None
        if prepared.result is not None:
            found = prepared.result().float().reshape(wanted.shape)
            difference = float((found - wanted).abs().max() / wanted.abs().max())
        spread = timed(prepared.call, self.clock, self.each)
        return Measurement(inputs.case, name, prepared.bytes, spread, difference)


def _failure(error: Exception) -> str:
    first = (str(error).strip() or "no message").splitlines()[0][:200]
    return f"{FAILED}: {type(error).__name__}: {first}"
