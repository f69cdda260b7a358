"""What a simulation writes down while it runs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, count
from operator import mul
from typing import Any

from kvlab.memory import Waste

from .costmodel import PICOSECONDS
from .durations import Durations, Spread
from .report import Moment, Report
from .reserved import ReservedStore
from .scheduler import Scheduler

MOMENTS = 2048
"""At most twice as many moments are kept of a simulation, however long."""


class Observer:
    """Adds up what `Simulation` sees of `scheduler` and its store.

    changed: somebody came or ended since the last step.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler, self.store = scheduler, scheduler.store
        self.changed = True
        self._gaps = Durations()
        self._busy = self._held = self._taken = self._seats = 0  # picoseconds, and slots and requests times these
        self._peak = 0
        self._moments: list[Moment] = []
        self._every, self._skipped = 1, 0

    def decode(
        self, now: int, running: int, contexts: int, filled: int, first: int, slope: int, needs: Sequence[int]
    ) -> None:
        """Decode steps of `running` requests.

        The first takes `first`, each other `slope` more than the one before, and `needs` more blocks.
        """
        held, taken = contexts + filled, self._slots
        if self.changed:
            self._moment(now, held, taken)
        steps = 1 + len(needs)
        once, twice = steps * (steps - 1) // 2, (steps - 1) * steps * (2 * steps - 1) // 6  # sums of i and of i * i
        busy = steps * first + slope * once
        self._busy += busy
        self._held += steps * held * first + (held * slope + running * first) * once + running * slope * twice
        self._taken += taken * busy
        if needs:  # what step i needs is taken for busy - i * first - slope * (i * (i - 1) // 2)
            late = first * sum(map(mul, needs, count(1))) + slope * sum(map(mul, needs, accumulate(count())))
            self._taken += self.store.block_size * (sum(needs) * busy - late)
        self._seats += self.scheduler.num_running * steps
        self._gaps.add(first, slope, steps, running)

    def mixed(self, now: int, running: int, held: int, took: int) -> None:
        """A step of another kind, in which `running` requests got their next token."""
        taken = self._slots
        self._moment(now, held, taken)
        self.changed = True
        if running:
            self._gaps.add(took, 0, 1, running)
        self._busy += took
        self._held += held * took
        self._taken += taken * took
        self._seats += self.scheduler.num_running

    def gap(self, picoseconds: int) -> None:
        """A request that had been preempted got its next token so long after the last."""
        self._gaps.add(picoseconds, 0, 1, 1)

    def report(self, jobs: Sequence[Any], steps: int, now: int) -> Report:
        """The sums as they are now, and what the requests remember."""
        scheduler = self.scheduler
        capacity = self.store.num_blocks * self.store.block_size
        held, taken = (total / max(self._busy, 1) / capacity for total in (self._held, self._taken))
        empty = {"later" if isinstance(self.store, ReservedStore) else "internal": taken - held}
        return Report(
            requests=len(jobs),
            output_tokens=sum(job.answer for job in jobs),
            prompt_tokens=sum(job.prompt for job in jobs),
            steps=steps,
            seconds=now / PICOSECONDS,
            first_token=Spread.of([(job.first - job.arrived) / PICOSECONDS for job in jobs]),
            between=self._gaps.spread(),
            queueing=Spread.of([(job.begun - job.arrived) / PICOSECONDS for job in jobs]),
            running=self._seats / max(steps, 1),
            peak=self._peak,
            preemptions=scheduler.preemptions,
            swaps=scheduler.swaps,
            recomputed=scheduler.recomputed_tokens,
            waste=Waste(held=held, free=1 - taken, **empty),
            timeline=tuple(self._moments),
            slots=capacity,
        )

    @property
    def _slots(self) -> int:
        """Slots of the blocks that are taken."""
        store = self.store
        return (store.num_blocks - store.num_free) * store.block_size

    def _moment(self, now: int, held: int, taken: int) -> None:
        """Keep the first step after each change; once there are too many, every second of them."""
        self.changed = False
        scheduler = self.scheduler
        running = scheduler.num_running
        if running > self._peak:
            self._peak = running
        self._skipped += 1
        if self._skipped < self._every:
            return
        self._skipped = 0
        waiting, swapped = len(scheduler.waiting), 0
        if scheduler.swaps:
            swapped = sum(job.state == "swapped" for job in scheduler.waiting)
        seconds = now / PICOSECONDS
        self._moments.append(Moment(seconds, running, waiting - swapped, swapped, held, taken, scheduler.preemptions))
        if len(self._moments) > 2 * MOMENTS:
            del self._moments[1::2]
            self._every *= 2
