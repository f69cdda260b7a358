"""What ranks are asked for, and what they answer: plain numbers and text, which travel between processes as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from kvlab.errors import UsageError
from kvlab.memory import blocks_needed

from .lockstep import refuse_unknown_options
from .sampling import Sampling


@dataclass(frozen=True)
class Job:
    """Prompts for one model on several ranks.

    prompts: token ids, or text, which the model's tokenizer encodes. model: a folder, a hub id, or "courier". sampling:
    the arguments of `Sampling`. num_blocks: of the pools, on every rank; None for as many as all prompts need at once.
    engine: further arguments of `RankedEngine` by name, such as `prefix="hash"`. timeout: seconds that a rank waits for
    the others, once a step has begun, before it gives up.
    """

    prompts: Sequence[Sequence[int] | str]
    model: str = "courier"
    max_new_tokens: int = 32
    sampling: dict[str, Any] = field(default_factory=dict)
    num_blocks: int | None = None
    block_size: int = 16
    engine: dict[str, Any] = field(default_factory=dict)
    timeout: float = 60.0

    def __post_init__(self) -> None:
        if not self.prompts or isinstance(self.prompts, str):
            raise UsageError("a job has a list of at least 1 prompt")
        if not self.timeout > 0 or self.block_size < 1:
            raise UsageError(
                f"a rank waits more than 0 seconds, and blocks have at least 1 slot, not {self.timeout} and "
                f"{self.block_size}"
            )
        refuse_unknown_options(self.engine)
        try:
            Sampling(**self.sampling)
        except TypeError as error:
            raise UsageError(f"these are no settings of Sampling: {error}") from error

    def blocks(self, lengths: Sequence[int]) -> int:
        """Blocks of each rank's pools, for prompts of so many tokens."""
        if self.num_blocks is not None:
            return self.num_blocks
        return sum(blocks_needed(length + self.max_new_tokens, self.block_size) for length in lengths)

    def save(self, path: Path) -> None:
        """Write it as JSON; what JSON cannot hold is refused with `UsageError`."""
        try:
            path.write_text(json.dumps(asdict(self)), encoding="utf-8")
        except TypeError as error:
            raise UsageError(f"the ranks can be told numbers, text and lists only: {error}") from error

    @classmethod
    def load(cls, path: Path) -> Job:
        """What `save` wrote."""
        return cls(**json.loads(path.read_text(encoding="utf-8")))


class OnRanks(NamedTuple):
    """What came of a `Job`.

    tokens: the answers, in the order of the prompts. heads, kv_heads: ids of those of each rank. bytes_per_token: of
    the cache, measured on each rank. num_blocks, block_size: of the pools, the same on every rank. steps,
    computed_tokens, found_tokens, preemptions: of the one engine (found: prompt tokens in the prefix cache). integers:
    that rank 0 sent to each other rank, for all steps. sums, summed_bytes: tensors summed over the ranks, and their
    bytes on one rank, those of two trial runs of one token included.
    """

    tokens: list[list[int]]
    heads: list[list[int]]
    kv_heads: list[list[int]]
    bytes_per_token: list[int]
    num_blocks: int
    block_size: int
    steps: int
    computed_tokens: int
    found_tokens: int
    preemptions: int
    integers: int
    sums: int
    summed_bytes: int

    def save(self, path: Path) -> None:
        """Write it as JSON."""
        path.write_text(json.dumps(self._asdict()), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> OnRanks:
        """What `save` wrote."""
        return cls(**json.loads(path.read_text(encoding="utf-8")))
