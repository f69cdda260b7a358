"""Who may join those that wait for their first token: overload is refused at the door, or waits there for a while."""

from __future__ import annotations

import asyncio
from collections import deque
from math import ceil
from time import monotonic

from kvlab.errors import InvariantBroken

from .refusals import Refusal

LONGEST_ADVICE = 60  # seconds after which a refused client is told to ask again, at most


class Gate:
    """At most `max_queue` sequences wait behind it, or one request however large. Used from one event loop.

    Who would make them more waits before it, in order of arrival and for at most `max_wait` seconds.
    """

    def __init__(self, max_queue: int, max_wait: float) -> None:
        self.max_queue, self.max_wait = max_queue, max_wait
        self.waiting = self.refused = 0
        self._before: deque[tuple[int, asyncio.Future[None]]] = deque()
        self._took = 0.0

    async def enter(self, seats: int) -> float:
        """Let a request of so many sequences in, and return when that was. `Refusal` 429 if it cannot be."""
        if not self._before and self._has_room(seats):
            self.waiting += seats
        else:
            await self._wait(seats)
        return monotonic()

    def leave(self, seats: int, since: float) -> None:
        """They have got their first token, or went away: others may come."""
        self.waiting -= seats
        self._took = monotonic() - since
        self._admit()

    def check(self) -> None:
        """Nobody waits before an open gate, and counts are no fewer than none."""
        if self.waiting < 0 or self._before and self._has_room(self._before[0][0]):
            raise InvariantBroken("gate", f"{self.waiting} wait behind it, {len(self._before)} requests before it")

    def _has_room(self, seats: int) -> bool:
        return self.waiting == 0 or self.waiting + seats <= self.max_queue

    async def _wait(self, seats: int) -> None:
        if not self.max_wait:
            raise self._full()
        place = seats, asyncio.get_running_loop().create_future()
        self._before.append(place)
        try:
            await asyncio.wait([place[1]], timeout=self.max_wait)  # `wait_for` may swallow a cancellation
            if not place[1].done():
                raise self._full()
        except asyncio.CancelledError:
            if place[1].done():  # it was let in while its client went away
                self.waiting -= seats
            raise
        finally:
            if not place[1].done():
                place[1].cancel()
                self._before.remove(place)
            self._admit()

    def _admit(self) -> None:
        while self._before and self._has_room(self._before[0][0]):
            seats, future = self._before.popleft()
            self.waiting += seats
            future.set_result(None)

    def _full(self) -> Refusal:
        self.refused += 1
        there = f"{self.waiting} sequences wait for their first token, and at most {self.max_queue} may"
        retry_after = min(max(1, ceil(self._took)), LONGEST_ADVICE)
        return Refusal(429, f"{there}. Ask again later.", code="overloaded", retry_after=retry_after)
