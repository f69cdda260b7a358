"""What a scheduler may decide one way or another: who is admitted first, who must leave, and how.

Each policy is one plain function, or an object that is called like one, and can be replaced by another.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple, Protocol

from .ordering import FirstCome, Order


class Crowd(Protocol):
    """Jobs that were forked from one, the stem. together: they go on all in the same step, or none."""

    stem: Any
    together: bool

    def restart(self) -> Any:
        """Forget what the branches have done, if they only go on together, and return the stem, which runs again."""
        ...


class Job(Protocol):
    """What a scheduler knows of a request: numbers only.

    priority: the smaller, the sooner. arrival: its number in the order of submission, or anything that sorts like it.
    computed: tokens whose keys and values are in the pools; kept up to date until it decodes. state: "waiting",
    "running", "swapped" or "ended". length: tokens known so far, of prompt and answer together; while it decodes, one
    more than the pools hold. seats: how many jobs it is or will be forked into. group: what it is a branch of, if
    anything.
    """

    id: Hashable
    priority: int
    arrival: Any
    computed: int
    state: str

    @property
    def length(self) -> int: ...

    @property
    def seats(self) -> int: ...

    @property
    def group(self) -> Crowd | None: ...


def first_come(job: Job) -> Any:
    """First come, first served."""
    return job.arrival


def by_priority(job: Job) -> tuple[int, Any]:
    """The smallest priority first; among equals the first to come."""
    return job.priority, job.arrival


def last_in_order(running: Sequence[Job]) -> Job:
    """The most recent, or whoever else comes last: it has the least work to lose, and everybody before it goes on."""
    return running[-1]


def always_recompute(num_tokens: int, num_blocks: int) -> bool:
    """Never swap: the blocks are dropped, and their tokens run again later."""
    return False


def always_swap(num_tokens: int, num_blocks: int) -> bool:
    """Swap whenever the host has room."""
    return True


class Cheaper(NamedTuple):
    """Swap if that takes less time than to recompute, by the two costs given (see `kvlab.memory.swap_seconds`).

    recompute: seconds for so many tokens. swap: seconds for so many blocks, out and in.
    """

    recompute: Callable[[int], float]
    swap: Callable[[int], float]

    def __call__(self, num_tokens: int, num_blocks: int) -> bool:
        """Whether swapping `num_blocks` blocks is cheaper than running `num_tokens` tokens again."""
        return self.swap(num_blocks) < self.recompute(num_tokens)


class Policies(NamedTuple):
    """A scheduler's policies.

    order: what to sort jobs by, to admit them and to find the first, which is never preempted while others run.
    victim: who must leave, out of those who run, the first in order first. swap: whether a victim of so many tokens in
    so many blocks is swapped to the host rather than recomputed.
    pick: who of those who wait goes next, by default the first in order (see `kvlab.serve.ordering`).
    """

    order: Callable[[Any], Any] = first_come
    victim: Callable[[Sequence[Any]], Any] = last_in_order
    swap: Callable[[int, int], bool] = always_recompute
    pick: Order = FirstCome()


USUAL = Policies()
"""First come, first served; the most recent leaves, and is recomputed."""
