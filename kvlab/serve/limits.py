"""Which requests can never be served, and are refused when they are submitted (I10)."""

from __future__ import annotations

from kvlab.errors import UsageError
from kvlab.memory import blocks_needed


class NeverFits(UsageError):
    """A request larger than the pool or the model, refused when it is submitted (I10): what it needs, what is there."""

    def __init__(self, what: str, needed: int, there: int) -> None:
        super().__init__(f"the request may need {needed} {what}, and there are {there} in all")
        self.what, self.needed, self.there = what, needed, there

    def __reduce__(self):
        return type(self), (self.what, self.needed, self.there)


def never_fits(tokens: int, block_size: int, num_blocks: int, detail: str = "") -> None:
    """Refuse with `NeverFits` a request that may keep so many `tokens`, if `num_blocks` blocks are too few for it."""
    needed = blocks_needed(tokens, block_size)
    if needed > num_blocks:
        what = "slots" if block_size == 1 else f"blocks of {block_size} slots"
        raise NeverFits(what + (f" ({detail})" if detail else ""), needed, num_blocks)
