"""A contiguous memory that a scheduler can hand out: what servers did before paging, for comparison."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import Any

from kvlab.errors import OutOfBlocks, OutOfMemory, UsageError
from kvlab.memory import CONTEXT, MAX_ANSWER, Arena, reserve
from kvlab.memory.swap import Pairs


class ReservedStore:
    """`capacity` slots, out of which each job gets one piece by `policy` (see `kvlab.memory.reserve`) and keeps it.

    A "block" is one slot here. Jobs say their `prompt` and `answer`, which only the oracle policies look at. Nobody
    outgrows what is reserved, so nobody ever has to leave. See `kvlab.serve.plan.Store`.
    """

    block_size = 1

    def __init__(self, capacity: int, policy: str, context: int = CONTEXT, max_answer: int = MAX_ANSWER) -> None:
        self.policy, self.context, self.max_answer = policy, context, max_answer
        self.num_blocks, self._arena = capacity, Arena(capacity)
        self._pieces: dict[Hashable, tuple[int, int]] = {}  # job -> (first slot, size)
        self.num_free = capacity

    def size(self, job: Any) -> int:
        """Slots that are reserved for a job."""
        return reserve(self.policy, job.prompt, job.answer, self.context, self.max_answer)

    def admit(self, job: Any, spare: int) -> int:
        """One piece for all that the job may come to; the watermark is not asked for, since nobody grows."""
        size = self.size(job)
        try:
            self._pieces[job.id] = self._arena.allocate(size), size
        except OutOfMemory as error:
            raise OutOfBlocks(size, error.largest) from None
        self.num_free -= size
        return 0

    def found(self, job: Any) -> int:
        """Nothing is shared, so nothing is found."""
        return 0

    def append_each(self, ids: Collection[Hashable]) -> tuple[list[int], Pairs]:
        """Everybody has room already."""
        return [], []

    def needs(self, limit: int) -> list[int]:
        """Nothing, for any number of steps."""
        return [0] * limit

    def repeat(self, needs: list[int]) -> None:
        """Nothing changes."""

    def fork(self, parent: Hashable, children: Sequence[Hashable]) -> None:
        """A piece has one owner: `UsageError`."""
        raise UsageError(f"request {parent!r} cannot be forked: reserved memory is not shared")

    def num_held(self, ids: Collection[Hashable]) -> int:
        """Slots that these jobs hold."""
        return sum(map(self.num_tokens, ids))

    def num_tokens(self, job_id: Hashable) -> int:
        """Slots reserved."""
        return self._pieces[job_id][1]

    def free(self, job_id: Hashable) -> None:
        """Give the piece back."""
        start, size = self._pieces.pop(job_id)
        self._arena.free(start)
        self.num_free += size

    def swap_out(self, ids: Collection[Hashable]) -> Pairs:
        """There is no host."""
        raise OutOfBlocks(self.num_held(ids), 0)

    def swap_in(self, ids: Collection[Hashable], spare: int) -> Pairs:
        """Nobody is away."""
        raise OutOfBlocks(len(ids), 0)

    def forget(self, job_id: Hashable) -> None:
        """Nobody is away."""

    def discard(self, job_id: Hashable) -> None:
        """Give the piece back, if there is one."""
        if job_id in self._pieces:
            self.free(job_id)
