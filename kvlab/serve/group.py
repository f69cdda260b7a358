"""Several sequences of one prompt: it is run once, by a stem, and the others are forked from that."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from .admission import Share
from .request import Generation


@dataclass(frozen=True)
class BranchId:
    """The name of a group's `number`-th branch, equal to no name that a caller gave."""

    group: Hashable
    number: int


class Group(ABC):
    """A request whose prompt many branches share.

    stem: the sequence that runs the prompt. When it has, it is forked into all branches at once and freed, so the
    branches are alike: each may end or be aborted at any time, and none of them owns what the others read. share: the
    blocks that are promised to it.
    """

    def __init__(self, stem: Generation, share: Share) -> None:
        self.stem, self.share = stem, share
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
    def promised(self) -> int:
        """Blocks that it may need: full blocks of the prompt once, and the rest for each branch that may still run."""
        return self.share.common + self.share.each * self.seats

    @property
    @abstractmethod
    def seats(self) -> int:
        """Branches that run, or will."""

    @abstractmethod
    def abort(self) -> None:
        """End whatever has not ended."""

    def turn(self, generation: Generation) -> Sequence[Generation]:
        """Who must run in the same step when it is this generation's turn."""
        return (generation,)
