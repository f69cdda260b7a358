"""The requests of Hugging Face's continuous batching (requests.py), in integers; see `hf_batching`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

PENDING, PREFILLING, DECODING, FINISHED = range(4)


@dataclass(eq=False)
class Sequence:
    """One request. past: tokens that are stored. left: tokens of its prompt that are not scheduled yet.

    prompt: of this attempt; one that has begun again counts what it had generated as prompt. generated: of the answer.
    begun: whether it has been active before.
    """

    id: int
    prompt: int
    answer: int
    past: int = 0
    left: int = 0
    generated: int = 0
    state: int = PENDING
    begun: bool = False

    def __post_init__(self) -> None:
        self.left = self.prompt

    def again(self) -> Sequence:
        """It begins again: all its known tokens are prompt, stored ones, the one sampled last, and what was left."""
        known = self.past + self.left if self.left else self.past + 1
        return Sequence(self.id, known, self.answer, generated=self.generated, begun=True)


class Work(NamedTuple):
    """`tokens` of a sequence after `start` stored ones; samples: whether the model gives another one after them."""

    sequence: Sequence
    start: int
    tokens: int
    samples: bool
