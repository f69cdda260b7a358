"""What a scheduler hands out for one step, in integers, and what it asks of the memory that the step runs on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from kvlab.errors import KVLabError
from kvlab.memory.swap import Pairs

from .policies import Job


class StillLoading(KVLabError):
    """A job's beginning is on its way from a tier. Nothing was taken (I13); `wait` returns when it is there."""

    def __init__(self, num_blocks: int, wait: Callable[[], None]) -> None:
        super().__init__(f"{num_blocks} blocks are still being loaded")
        self.num_blocks, self.wait = num_blocks, wait

    def __reduce__(self):
        return type(self), (self.num_blocks, self.wait)


class Chunk(NamedTuple):
    """Tokens `start` to `stop - 1` of a job that has not yet caught up with its own tokens.

    last: whether it has after this chunk, so that a new token can be sampled.
    """

    job: Any
    start: int
    stop: int
    last: bool


@dataclass(slots=True)
class Plan:
    """One step: who runs which tokens, and which blocks move before.

    decoding: jobs that run the one token they sampled last, into `slots`, in the same order. chunks: what the others
    run. The copies come first, in this order: `swap_out` from the pools to the host, `swap_in` from the host, and
    `copies` within the pools. Whoever executes a list empties it, so that a step which fails can be repeated.
    """

    decoding: list[Any] = field(default_factory=list)
    slots: list[int] = field(default_factory=list)
    chunks: list[Chunk] = field(default_factory=list)
    swap_out: Pairs = field(default_factory=list)
    swap_in: Pairs = field(default_factory=list)
    copies: Pairs = field(default_factory=list)
    admitted: list[Any] = field(default_factory=list)
    preempted: list[Any] = field(default_factory=list)

    @property
    def num_tokens(self) -> int:
        """Tokens that run in the step."""
        return len(self.decoding) + sum(chunk.stop - chunk.start for chunk in self.chunks)

    @property
    def is_decoding_only(self) -> bool:
        """Whether the step differs from the one before in nothing but the tokens."""
        return not (self.chunks or self.preempted or self.admitted)


class Store(Protocol):
    """The memory that a scheduler hands out. A call that is refused with `OutOfBlocks` changes nothing (I13)."""

    num_blocks: int
    block_size: int

    @property
    def num_free(self) -> int:
        """Blocks that nobody holds."""
        ...

    def admit(self, job: Job, spare: int) -> int:
        """Room for all of `job.length` tokens, while `spare` blocks stay free. Returns how many are there already.

        `StillLoading`, if some of them will be there soon.
        """
        ...

    def found(self, job: Job) -> int:
        """How many tokens of a job that waits are there already."""
        ...

    def append_each(self, ids: Collection[Hashable]) -> tuple[list[int], Pairs]:
        """Room for one token more for each: the slots, and what must be copied before they are written.

        ids: all who decode, or those who have just come back.
        """
        ...

    def fork(self, parent: Hashable, children: Sequence[Hashable]) -> None:
        """Let `children` hold what `parent` does."""
        ...

    def num_tokens(self, job_id: Hashable) -> int:
        """Tokens that have room."""
        ...

    def num_held(self, ids: Collection[Hashable]) -> int:
        """Blocks that they hold, each counted once."""
        ...

    def free(self, job_id: Hashable) -> None:
        """Give back all that it holds."""
        ...

    def swap_out(self, ids: Collection[Hashable]) -> Pairs:
        """Move to the host, which must have room."""
        ...

    def swap_in(self, ids: Collection[Hashable], spare: int) -> Pairs:
        """Move back; afterwards there are free blocks for the next token of each, and `spare` others."""
        ...

    def forget(self, job_id: Hashable) -> None:
        """Give back what it holds on the host."""
        ...

    def discard(self, job_id: Hashable) -> None:
        """Give back whatever it holds, here and on the host, if anything."""
        ...
