"""Which requests may be submitted: those that would fit, alone, with all that they may need.

How long an answer gets is not known, only the most that it may get: keys are kept for `prompt + max_new_tokens - 1`
tokens (the last token sampled is never run). A request that needs more blocks for that than there are could never
finish, and neither could whoever waits behind it. Every other one does: when blocks run short, the others leave for the
first in order (see `scheduler`).
"""

from __future__ import annotations

from typing import NamedTuple

from kvlab.memory import blocks_needed

from .limits import NeverFits

__all__ = ["Limits", "NeverFits", "Share"]


class Share(NamedTuple):
    """Blocks that branches of one prompt may need: `common` once, since nobody writes there, and `each` a branch."""

    common: int
    each: int


class Limits:
    """What there is: `num_blocks` of `block_size` slots, and so many positions that the model can tell apart."""

    def __init__(self, num_blocks: int, block_size: int, max_positions: int | None = None) -> None:
        self.num_blocks, self.block_size, self.max_positions = num_blocks, block_size, max_positions

    def room(self, prompt: int, branches: int = 1) -> int:
        """The most new tokens that each of so many branches of one prompt may ask for; 0 if there is room for none."""
        common = prompt // self.block_size
        kept = (common + (self.num_blocks - common) // branches) * self.block_size
        if self.max_positions is not None:
            kept = min(kept, self.max_positions)
        return max(0, kept - prompt + 1)

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
