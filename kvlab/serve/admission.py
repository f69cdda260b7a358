"""Which requests an engine without preemption may admit: those to whom it can promise all they may need.

A request that runs must be able to finish. How long its answer gets is not known, only the most that it may get: keys
are kept for `prompt + max_new_tokens - 1` tokens (the last token sampled is never run). So that many blocks are
*promised* to each running request, and the next one is admitted, first come first served, when every promise can be
kept at once. The branches of one prompt are promised its full blocks once, and the rest each. Blocks are still *taken*
one by one as tokens come: what is promised and never used keeps others waiting, but no memory is written for it.

Anything less careful is not honest without preemption: two requests that each need one more block, with none free,
wait for each other for ever. Lab 08 removes the price.
"""

from __future__ import annotations

from typing import NamedTuple

from kvlab.errors import InvariantBroken, UsageError
from kvlab.memory import blocks_needed

from .request import Generation


class NeverFits(UsageError):
    """A request larger than the pool or the model, refused when it is submitted (I10): what it needs, what is there."""

    def __init__(self, what: str, needed: int, there: int) -> None:
        super().__init__(f"the request may need {needed} {what}, and there are {there} in all")
        self.needed, self.there = needed, there


class Share(NamedTuple):
    """Blocks that branches of one prompt may need: `common` once, since nobody writes there, and `each` a branch."""

    common: int
    each: int


class Promises:
    """Blocks promised to running requests, out of `num_blocks` of `block_size` slots.

    What is promised is counted anew from those who run, so that it cannot drift from them.
    """

    def __init__(self, num_blocks: int, block_size: int, max_positions: int | None = None) -> None:
        self.num_blocks, self.block_size, self.max_positions = num_blocks, block_size, max_positions

    def needed(self, prompt: int, max_new_tokens: int) -> int:
        """Blocks that a request of so many tokens may need; `NeverFits` if it can never have them, or its positions."""
        return sum(self.share(prompt, max_new_tokens))

    def share(self, prompt: int, max_new_tokens: int, branches: int = 1) -> Share:
        """What so many branches of one prompt may need: `Share`. `NeverFits` if they can never have it all at once."""
        kept = prompt + max_new_tokens - 1
        common = prompt // self.block_size
        share = Share(common, blocks_needed(kept, self.block_size) - common)
        blocks = share.common + branches * share.each
        if self.max_positions is not None and kept > self.max_positions:
            raise NeverFits("positions of the model", kept, self.max_positions)
        if blocks > self.num_blocks:
            ways = f", {branches} ways" * (branches > 1)
            what = f"blocks of {self.block_size} slots ({prompt} + {max_new_tokens} tokens{ways})"
            raise NeverFits(what, blocks, self.num_blocks)
        return share

    def allow(self, generation: Generation, running: list[Generation], spared: int = 0) -> bool:
        """Whether a request can be promised its blocks beside those who run.

        spared: blocks that they share, counted each time after the first: nobody needs to take them twice.
        """
        return self._total([*running, generation]) - spared <= self.num_blocks

    def check(self, running: list[Generation], spared: int = 0) -> None:
        """No more is promised to `running`, what they share once, than there is (I10)."""
        promised = self._total(running) - spared
        if promised > self.num_blocks:
            raise InvariantBroken("I10", f"{promised} blocks are promised, there are {self.num_blocks}")

    def _total(self, running: list[Generation]) -> int:
        groups = {generation.group for generation in running if generation.group is not None}
        return sum(generation.promised for generation in running) + sum(group.promised for group in groups)
