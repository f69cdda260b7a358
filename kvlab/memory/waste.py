"""One accounting of KV memory, in which every allocator of the course reports."""

from __future__ import annotations

from dataclasses import astuple, dataclass

from kvlab.errors import UsageError


@dataclass(frozen=True)
class Waste:
    """Where the token slots of a KV memory are. The five numbers add up to its capacity."""

    held: float = 0
    """Slots that hold a token."""
    later: float = 0
    """Slots that are reserved and will be used before their request ends."""
    internal: float = 0
    """Slots that are reserved and will never be used (internal fragmentation)."""
    external: float = 0
    """Free slots in holes too small for the request that waits (external fragmentation)."""
    free: float = 0
    """Other free slots."""

    @property
    def capacity(self) -> float:
        """All slots."""
        return self.held + self.later + self.internal + self.external + self.free

    @property
    def share_held(self) -> float:
        """Share of all slots that hold a token, 0.0 where there are none."""
        return self.held / self.capacity if self.capacity else 0.0

    def __add__(self, other: Waste) -> Waste:
        return Waste(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other))))

    def scaled(self, factor: float) -> Waste:
        """The same picture with every number times `factor`: 1 / capacity gives shares, 1 / steps an average."""
        return Waste(*(number * factor for number in astuple(self)))


def waste_kinds(prompt: int, answer: int, generated: int, allocated: int) -> tuple[int, int, int]:
    """`(held, later, internal)` slots inside one request's allocation, after `generated` of its `answer` tokens."""
    held, final = prompt + generated, prompt + answer
    if min(prompt, answer, generated) < 0 or generated > answer:
        raise UsageError(f"a request of {prompt} + {answer} tokens cannot have generated {generated}")
    if allocated < held:
        raise UsageError(f"{held} tokens do not fit in {allocated} allocated slots")
    later = min(final, allocated) - held
    return held, later, allocated - held - later


def request_waste(prompt: int, answer: int, generated: int, allocated: int) -> Waste:
    """`waste_kinds` as a `Waste`; nothing inside an allocation is external or free."""
    return Waste(*waste_kinds(prompt, answer, generated, allocated))
