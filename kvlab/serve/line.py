"""Who waits and who runs, in which order they are admitted, and who runs how much of the next step."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable

from kvlab.errors import UsageError

from .admission import Promises
from .group import Group
from .ordering import FirstCome, Order
from .request import Generation
from .reuse import Reuse


class Line:
    """The sequences of one engine. What has many branches waits as one, its stem, and is admitted as a whole."""

    def __init__(self, promises: Promises, order: Order | None = None) -> None:
        self.promises, self.order = promises, order or FirstCome()
        self.waiting: deque[Generation] = deque()
        self.running: list[Generation] = []

    def names(self) -> set[Hashable]:
        """What the requests that wait or run are called."""
        names = {generation.id for generation in (*self.waiting, *self.running)}
        return names | {generation.group.id for generation in self.running if generation.group is not None}

    def admit(self, max_running: int, reuse: Reuse) -> None:
        """Move requests from waiting to running, in their order, while every promise can be kept.

        A request of many branches takes a seat for each of them. reuse: lets each in with what it finds of its prompt,
        and knows what is shared.
        """
        while self.waiting:
            place = self.order.pick(self.waiting, reuse.found)
            newcomer = self.waiting[place]
            if sum(_seats(generation) for generation in (*self.running, newcomer)) > max_running:
                return
            if not self.promises.allow(newcomer, self.running, reuse.spared(self.running, newcomer)):
                return
            reuse.enter(newcomer)
            self.order.admitted(self.waiting, place)
            self.running.append(newcomer)
            del self.waiting[place]

    def choose(self, token_budget: int) -> list[tuple[Generation, int]]:
        """Who runs how many tokens: decoding requests one each, then prompts with what is left, oldest first.

        Beams of one search run in the same step or not at all: one that does not fit waits for the next.
        """
        left, chosen = token_budget, list[tuple[Generation, int]]()
        for decoding in (True, False):
            for generation in self.running:
                if left <= 0 or (generation.pending == 1) != decoding:
                    continue
                if generation.group is None:
                    chosen.append((generation, min(left, generation.pending)))
                    left -= chosen[-1][1]
                    continue
                together = generation.group.turn(generation)
                if len(together) <= left or not chosen:  # alone, if the budget has been made smaller than the search
                    rows = [(member, min(left, member.pending)) for member in together]
                    chosen += rows
                    left -= sum(count for _, count in rows)
        return sorted(
            chosen, key=lambda pair: (-pair[1], -pair[0].length)
        )  # neighbours of a size are attended in place

    def branch(self, parent: Generation, children: list[Generation]) -> None:
        """Let `children` run in the place of their parent, or beside it if that goes on."""
        at = self.running.index(parent) + 1
        self.running[at:at] = [child for child in children if child not in self.running]
        if parent.group is not None and parent is parent.group.stem:
            parent.reason = "forked"

    def retire(self, leave: Callable[[Generation], object]) -> None:
        """Let go of whoever has ended; `leave` gives back what a running one holds."""
        if any(generation.finished for generation in self.waiting):
            self.waiting = deque(generation for generation in self.waiting if not generation.finished)
        for generation in [generation for generation in self.running if generation.finished]:
            leave(generation)
            self.running.remove(generation)

    def refuse_stranger(self, request: Generation | Group) -> None:
        """`UsageError` for a request that neither waits nor runs here."""
        group = request.group if isinstance(request, Generation) else request
        for other in (*self.waiting, *self.running):
            if other is request or group is not None and other.group is group:
                return
        raise UsageError(f"request {request.id!r} neither waits nor runs in this engine")


def _seats(generation: Generation) -> int:
    """Sequences that it is, or is to be."""
    return generation.group.seats if generation.group is not None and generation is generation.group.stem else 1
