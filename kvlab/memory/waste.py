"""One accounting of KV memory, in which every allocator of the course reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass

from kvlab.errors import UsageError

Tenant = tuple[int, int, int]
"""What a chunk is for: (prompt, answer, generated so far), in tokens."""


@dataclass(frozen=True)
class Waste:
    """Where the token slots of a KV memory are. The five numbers add up to its capacity; averages and shares are
    floats.
    """

    held: float = 0
    """Slots that hold a token."""
    later: float = 0
    """Slots that are reserved and will be used before their request ends."""
    internal: float = 0
    """Slots that are reserved and will never be used (internal fragmentation)."""
    external: float = 0
    """Free slots in holes too small for the request that waits (external fragmentation)."""
    free: float = 0
    """The other free slots."""

    @property
    def capacity(self) -> float:
        """All slots."""
        return self.held + self.later + self.internal + self.external + self.free

    @property
    def share_held(self) -> float:
        """Share of all slots that hold a token; 0.0 where there are no slots."""
        return self.held / self.capacity if self.capacity else 0.0

    def __add__(self, other: Waste) -> Waste:
        return Waste(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))

    def scaled(self, factor: float) -> Waste:
        """The same picture with every number times `factor`: 1 / capacity gives shares, 1 / steps an average."""
        return Waste(*(number * factor for number in astuple(self)))


def waste_kinds(prompt: int, answer: int, generated: int, allocated: int) -> tuple[int, int, int]:
    """`(held, later, internal)`: the slots of one request's allocation after `generated` of its `answer` tokens.

    They add up to `allocated`. More tokens than the answer has, or than the allocation holds, raise `UsageError`.
    Source: the three kinds of Kwon et al. 2023 (arXiv 2309.06180), section 3.1, without the external one.
    """
    held, final = prompt + generated, prompt + answer
    if prompt < 0 or not 0 <= generated <= answer:
        raise UsageError(f"a request of {prompt} + {answer} tokens cannot have generated {generated}")
    if allocated < held:
        raise UsageError(f"{held} tokens do not fit into {allocated} allocated slots")
    later = min(final, allocated) - held
    return held, later, allocated - held - later


def request_waste(prompt: int, answer: int, generated: int, allocated: int) -> Waste:
    """`waste_kinds` as a `Waste`; nothing inside an allocation is external or free."""
    return Waste(*waste_kinds(prompt, answer, generated, allocated))


def arena_waste(
    chunks: Mapping[int, int], holes: Iterable[tuple[int, int]], tenants: Mapping[int, Tenant], waiting: int = 0
) -> Waste:
    """The waste of a contiguous memory: `chunks` by first slot, `holes` as (start, size), and who lives in each chunk.

    `waiting` is what the request at the head of the queue asks for: holes below it are external. 0: nobody waits.
    A chunk without a tenant, or a tenant without a chunk, raises `UsageError`.
    """
    if chunks.keys() != tenants.keys():
        raise UsageError(f"chunks start at {sorted(chunks)}, but tenants are given for {sorted(tenants)}")
    free = [size for _, size in holes]
    external = sum(size for size in free if size < waiting)
    inside = (request_waste(*tenants[start], size) for start, size in chunks.items())
    return sum(inside, Waste(external=external, free=sum(free) - external))
