"""The requests of a simulation: what a scheduler knows of each, and what the simulation writes down."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kvlab.memory import Trace

from .costmodel import PICOSECONDS
from .limits import never_fits
from .reserved import ReservedStore


class Served:
    """One request in a simulation; see `kvlab.serve.policies.Job`. Times are in picoseconds, -1 for not yet.

    generated: tokens of the answer so far, kept up to date until it decodes; then it has them all at step `due`.
    """

    __slots__ = (
        "answer", "arrival", "arrived", "begun", "computed", "due", "ended", "filled", "first", "generated", "id",
        "last", "priority", "prompt", "state",
    )  # fmt: skip
    seats, group = 1, None

    def __init__(self, number: int, prompt: int, answer: int, arrived: int, priority: int = 0) -> None:
        self.id = self.arrival = number
        self.prompt, self.answer, self.arrived, self.priority = prompt, max(1, answer), arrived, priority
        self.computed = self.filled = self.generated = self.due = 0
        self.begun = self.first = self.last = self.ended = -1
        self.state = ""

    @property
    def length(self) -> int:
        """Tokens known so far."""
        return self.prompt + self.generated


def requests_of(trace: Trace, priorities: Sequence[int] = ()) -> list[Served]:
    """The trace's requests, none of which has arrived; their priorities are all 0 unless given, one for each."""
    ranks = priorities or [0] * len(trace)
    return [
        Served(number, request.prompt, request.answer, round(request.arrival * PICOSECONDS), rank)
        for number, (request, rank) in enumerate(zip(trace, ranks, strict=True))
    ]


def refuse_what_never_fits(jobs: Sequence[Served], store: Any) -> None:
    """`NeverFits` if the memory `store` is too small for the largest of them alone (I10)."""
    if not jobs:
        return
    if isinstance(store, ReservedStore):
        tokens = max(map(store.size, jobs))
    else:  # the last token is never stored
        tokens = max(job.prompt + job.answer for job in jobs) - 1
    never_fits(tokens, store.block_size, store.num_blocks)
