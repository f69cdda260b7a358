"""Who of those who wait goes next: first come first served, or whoever finds most of the prompt computed already."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import islice
from typing import Any, Protocol

from kvlab.errors import UsageError


class Order(Protocol):
    """A policy. `pick` names the place in `waiting` (oldest first) of the one to admit next; `admitted` that it was."""

    def pick(self, waiting: Sequence[Any], found: Callable[[Any], int]) -> int: ...

    def admitted(self, waiting: Sequence[Any], place: int) -> None: ...


class FirstCome:
    """First come, first served."""

    def pick(self, waiting: Sequence[Any], found: Callable[[Any], int]) -> int:
        """The oldest."""
        return 0

    def admitted(self, waiting: Sequence[Any], place: int) -> None:
        """Nothing to remember."""


class LongestPrefixFirst:
    """Cache-aware order: the request of which `found` says that most tokens are computed already (Zheng et al. 2024).

    Served together, requests with the same prefix find it before it is evicted. But a request with nothing in the
    cache would wait for ever, so each is overtaken `patience` times at most: whoever has been overtaken so often is not
    overtaken again. window: how many of the oldest are compared, since each costs a look-up.
    """

    def __init__(self, patience: int = 16, window: int = 64) -> None:
        if patience < 0 or window < 1:
            raise UsageError(f"patience is at least 0 and the window at least 1, not {patience} and {window}")
        self.patience, self.window = patience, window
        self._overtaken: dict[Hashable, int] = {}

    def pick(self, waiting: Sequence[Any], found: Callable[[Any], int]) -> int:
        """The place of the one with most tokens found, the oldest of equals, none after one whose patience is over."""
        best, most = 0, -1
        for place, request in enumerate(islice(waiting, self.window)):
            length = found(request)
            if length > most:
                best, most = place, length
            if self._overtaken.get(request, 0) >= self.patience:
                break
        return best

    def admitted(self, waiting: Sequence[Any], place: int) -> None:
        """Remember who has been overtaken; `waiting` as it was when `pick` was asked."""
        past, overtaken = self._overtaken, list(waiting)
        self._overtaken = {
            request: past.get(request, 0) + (other < place)
            for other, request in enumerate(overtaken)
            if other != place and (request in past or other < place)
        }
