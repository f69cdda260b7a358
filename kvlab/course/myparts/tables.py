"""What must have come of a learner's call that makes a table or lets it grow, whichever blocks the pool gave."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np

from kvlab.course.myparts.pool import OwnPool
from kvlab.course.myparts.wording import said
from kvlab.course.shorten import show
from kvlab.errors import OutOfBlocks
from kvlab.memory import blocks_needed, slot_mapping


class TableCall:
    """A call of `fork`, `append_tokens` or `append_with_cow` for `table`, made right before it.

    before: how many owners each block of the pool has then. `wrong_...` is asked after it, and says what is wrong in a
    sentence without its subject ("returned 3, expected 4."), or an empty one. What the part raised is `error`, if it
    did, and what it returned `got`.
    """

    def __init__(self, pool: OwnPool, table: list[int]) -> None:
        self.pool, self.table, self.before = pool, list(table), list(pool.holders)

    def wrong_fork(self, given: list[int], got: Any, error: BaseException | None) -> str:
        """given: the list that `fork` was given, as it is now."""
        table = self.table
        if error is not None:
            return f"{said(error)}, expected a second table."
        if given != table:
            return f"changed the table it was given to {show(given, 50)}."
        if not isinstance(got, list) or got != table:
            return f"returned {show(got, 50)}, expected {show(table, 50)}."
        if got is given:
            return "returned the same list, expected a list of its own."
        expected = list(self.before)
        for block in table:
            expected[block] += 1
        return self._wrong_owners(expected)

    def wrong_growth(self, grown: list[int], num_tokens: int, new_tokens: int, block_size: int, got: Any,
                     error: BaseException | None) -> str:
        """grown: the table now, which had `num_tokens` tokens and should have `new_tokens` more."""
        table, total = self.table, num_tokens + new_tokens
        missing = blocks_needed(total, block_size) - len(table)
        if missing > self.before.count(0):
            return self._wrong_refusal(error, missing, grown)
        if error is not None:
            return f"{said(error)}, expected slots."
        if grown[: len(table)] != table or len(grown) != len(table) + missing:
            return f"left the table {show(grown, 50)}, expected {missing} new entries behind those it had."
        wrong = self._wrong_blocks(grown[len(table) :], self.before)
        if wrong:
            return wrong
        wanted = slot_mapping(grown, num_tokens, total, block_size)
        return "" if _are(got, wanted) else f"returned {show(got, 60)}, expected slots {show(wanted, 60)}."

    def wrong_append(self, grown: list[int], num_tokens: int, block_size: int, got: Any,
                     error: BaseException | None) -> tuple[str, str]:
        """What is wrong, and the invariant it breaks. grown: the table now, which should have a token more."""
        table, offset = self.table, num_tokens % block_size
        shared = offset > 0 and self.before[table[-1]] > 1
        fresh = shared or not offset
        if fresh and not self.before.count(0):
            return self._wrong_refusal(error, 1, grown), "I13"
        if error is not None:
            return f"{said(error)}, expected a slot.", ""
        kept = table[:-1] if shared else table
        if grown[: len(kept)] != kept or len(grown) != len(kept) + fresh or (shared and grown[-1] == table[-1]):
            says = "a new block in the shared one's place" if shared else f"{int(fresh)} new entries"
            return f"left the table {show(grown, 50)}, expected {says}.", "I5" if shared else "I3"
        expected = list(self.before)
        if shared:
            expected[table[-1]] -= 1
        wrong = self._wrong_blocks(grown[len(kept) :] if fresh else [], expected)
        if wrong:
            return wrong, "I2"
        wanted = grown[-1] * block_size + offset, (table[-1], grown[-1]) if shared else None
        right = isinstance(got, tuple | list) and len(got) == 2 and _are([got[0]], [wanted[0]])
        right = right and (got[1] is None if wanted[1] is None else _are(got[1], list(wanted[1])))
        return ("" if right else f"returned {show(got, 50)}, expected {show(wanted, 50)}."), "I5" if shared else "I4"

    def _wrong_refusal(self, error: BaseException | None, missing: int, grown: list[int]) -> str:
        """What is wrong with a call that must be refused, because so many blocks are missing (I13)."""
        if not isinstance(error, OutOfBlocks):
            what = said(error) if error is not None else "went on"
            return f"{what}, expected OutOfBlocks: {missing} needed, {self.before.count(0)} free."
        if grown != self.table or self.pool.holders != self.before:
            return "was refused by the pool and had changed the table or the pool already."
        return ""

    def _wrong_blocks(self, new: list[int], before: list[int]) -> str:
        """What is wrong with `new` blocks, which must have been free before and have one holder now, all others as
        `before`."""
        expected = list(before)
        for block in new:
            if type(block) is bool or not isinstance(block, int | np.integer) or not 0 <= block < len(before):
                return f"put {show(block, 30)} into the table, expected blocks that the pool has."
            expected[block] += 1
        return self._wrong_owners(expected)

    def _wrong_owners(self, expected: list[int]) -> str:
        for block, (one, other) in enumerate(zip(self.pool.holders, expected, strict=True)):
            if one != other:
                return f"left block {block} with {one} owner{'s' * (one != 1)}, expected {other}."
        return ""


def _are(got: Any, wanted: list[int]) -> bool:
    """Whether these are the whole numbers wanted, as a list, a tuple or an array."""
    try:
        found = list(got)
        return len(found) == len(wanted) and all(
            not isinstance(one, bool | float) and index(one) == other for one, other in zip(found, wanted, strict=True)
        )
    except TypeError:
        return False
