"""Several sequences of one prompt: it is run once, by a stem, and the others are forked from that."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass

from .request import Generation


@dataclass(frozen=True)
class BranchId:
    """The name of a group's `number`-th branch, equal to no name that a caller gave."""

    group: Hashable
    number: int


class Group(ABC):
    """A request whose prompt many branches share.

    stem: the sequence that runs the prompt. When it has, it is forked into all branches at once and freed, so the
    branches are alike: each may end or be aborted at any time, and none of them owns what the others read. together:
    whether the branches only go on all in the same step.
    """

    together = False

    def __init__(self, stem: Generation) -> None:
        self.stem = stem
        stem.group = self

    @property
    def id(self) -> Hashable:
        """The name of the request."""
        return self.stem.id

    @property
    def finished(self) -> bool:
        """Whether nothing of it waits or runs any more."""
        return not self.seats

    @property
    @abstractmethod
    def seats(self) -> int:
        """Branches that run, or will."""

    @abstractmethod
    def abort(self) -> None:
        """End whatever has not ended."""

    def restart(self) -> Generation:
        """Begin again from the stem, which is returned: a group that goes on together has lost its blocks."""
        return self.stem
