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


def pick_next(found: Sequence[int], overtaken: Sequence[int], patience: int) -> int:
    """The place of the request to admit next, in a queue with the oldest first.

    found: how many tokens of each are in the cache. overtaken: how often a younger one has gone before it. The most
    tokens win, the older of equals, and nobody goes before one that has been overtaken `patience` times. An empty
    queue: `UsageError`.
    """
    if not found:
        raise UsageError("there is nobody to pick in a queue of 0 requests")
    best = 0
    for place, length in enumerate(found):
        if length > found[best]:
            best = place
        if overtaken[place] >= patience:
            break
    return best


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
        lengths, overtaken = list[int](), list[int]()
        for request in islice(waiting, self.window):
            lengths.append(found(request))
            overtaken.append(self._overtaken.get(request, 0))
            if overtaken[-1] >= self.patience:
                break  # whoever is behind it need not be looked up
        return self.choose(lengths, overtaken)

    def choose(self, found: list[int], overtaken: list[int]) -> int:
        """`pick_next`, for which a subclass may have another."""
        return pick_next(found, overtaken, self.patience)

    def admitted(self, waiting: Sequence[Any], place: int) -> None:
        """Remember who has been overtaken; `waiting` as it was when `pick` was asked."""
        past, overtaken = self._overtaken, list(waiting)
        self._overtaken = {
            request: past.get(request, 0) + (other < place)
            for other, request in enumerate(overtaken)
            if other != place and (request in past or other < place)
        }
