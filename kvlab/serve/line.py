"""The requests of one engine, as its scheduler keeps them: what they are called, how they branch, and when they go."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable

from kvlab.errors import UsageError

from .group import Group
from .request import Generation
from .scheduler import Scheduler


class Line:
    """Requests on their way through `scheduler`. What has many branches waits as one, its stem. ended: by reason."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.ended: Counter[str] = Counter()
        self._numbers = itertools.count()
        self._aborted = False

    @property
    def everybody(self) -> list[Generation]:
        """Sequences that wait or run."""
        scheduler = self.scheduler
        return [*scheduler.waiting, *scheduler.decoding.values(), *scheduler.prefilling.values()]

    def names(self) -> set[Hashable]:
        """What the requests that wait or run are called."""
        everybody = self.everybody
        names = {generation.id for generation in everybody}
        return names | {generation.group.id for generation in everybody if generation.group is not None}

    def number_from(self, first: int) -> None:
        """Requests that join from now on are younger than those with a number below `first`."""
        self._numbers = itertools.count(first)

    def join(self, generation: Generation) -> None:
        """Let a request wait for its turn."""
        generation.came = next(self._numbers)
        self.scheduler.submit(generation)

    def branch(self, parent: Generation, children: list[Generation]) -> None:
        """Let `children` run in the place of their parent, or beside it if that goes on. It can be repeated."""
        for child in children:
            child.computed = parent.computed
        self.scheduler.fork(parent, children)
        if parent.group is not None and parent is parent.group.stem:
            parent.reason = "forked"

    def abort(self, request: Generation | Group, reason: str = "aborted") -> None:
        """Say that a request, or one sample of several, has ended. It leaves when the others who have do."""
        if isinstance(request, Generation):
            request.reason = request.reason or reason
        request.abort()
        group = request.group if isinstance(request, Generation) else request
        if group is not None and group.finished:
            group.abort()  # the stem, which nobody waits for any more
        self._aborted = True

    def retire(self) -> None:
        """Let go of whoever has ended, and give back what it holds. It can be repeated."""
        scheduler = self.scheduler
        those = [*scheduler.decoding.values(), *scheduler.prefilling.values()]
        if self._aborted:
            those += scheduler.waiting
        for generation in those:
            if generation.reason is not None:
                scheduler.end(generation)
                self.ended[generation.reason] += 1
        self._aborted = False

    def refuse_stranger(self, request: Generation | Group) -> None:
        """`UsageError` for a request that neither waits nor runs here."""
        group = request.group if isinstance(request, Generation) else request
        for other in self.everybody:
            if other is request or group is not None and other.group is group:
                return
        raise UsageError(f"request {request.id!r} neither waits nor runs in this engine")
