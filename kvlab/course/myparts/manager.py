"""The block manager of an engine whose tables are made and grown by the functions of labs 03 and 06."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from operator import index
from typing import Any

import numpy as np

from kvlab.course.myparts.parts import Parts, said
from kvlab.course.myparts.pool import OwnPool
from kvlab.course.shorten import show
from kvlab.errors import OutOfBlocks, UsageError
from kvlab.memory import BlockManager, append_with_cow, blocks_needed, slot_mapping
from kvlab.memory.sharing import Copy, Write
from kvlab.memory.table import Held
from kvlab.serve.stores import PagedStore

Outcome = tuple[Any, BaseException | None]


class OwnManager(BlockManager):
    """A `BlockManager` over an `OwnPool`. Each change of a table is a call of the learner's function, or of the
    finished one; what the learner's does is compared with what must come of it, whichever blocks the pool gave, and
    undone if it is wrong. store_type: the store that an engine puts on it.
    """

    pool: OwnPool

    def __init__(self, parts: Parts, num_blocks: int, block_size: int, store_type: type[PagedStore]) -> None:
        super().__init__(OwnPool(parts, num_blocks), block_size)
        self.parts, self.store_type = parts, store_type

    def admit(self, seq_id: Hashable, num_tokens: int, prefix: Sequence[int] = ()) -> list[int]:
        """As `BlockManager.admit`: `fork` of the prefix, and `append_tokens` for the rest."""
        if seq_id in self._sequences:
            raise UsageError(f"sequence {seq_id!r} is admitted already")
        num_tokens, there = index(num_tokens), len(prefix) * self.block_size
        if there > num_tokens:
            raise UsageError(f"{len(prefix)} full blocks of {self.block_size} are no prefix of {num_tokens} tokens")
        needed = int(self.parts.pure("blocks_needed", num_tokens, self.block_size)) - len(prefix)
        needed += sum(not self.pool.ref_count(block) for block in set(prefix))  # those that lie free are taken (F2)
        if needed > self.pool.num_free:
            raise OutOfBlocks(needed, self.pool.num_free)
        table = self._forked(list(prefix)) if prefix else []
        self._grow(table, there, num_tokens - there)
        self._sequences[seq_id] = Held(table, num_tokens)
        return table.copy()

    def fork(self, parent: Hashable, children: Iterable[Hashable]) -> None:
        """As `BlockManager.fork`: a `fork` of the parent's table for each child."""
        ids, held = list(children), self._find(parent)
        taken = [child for child in ids if child in self._sequences or ids.count(child) > 1]
        if taken:
            raise UsageError(f"sequence {taken[0]!r} is admitted already, or named twice")
        for child in ids:
            self._sequences[child] = Held(self._forked(held.table), held.num_tokens)

    def append(self, seq_id: Hashable, count: int = 1) -> Any:
        """As `BlockManager.append`."""
        if count != 1:
            return self.extend(seq_id, count)
        held = self._find(seq_id)
        if held.num_tokens % self.block_size and self.pool.ref_count(held.table[-1]) != 1:
            self._refuse_shared(seq_id, held.table[-1])
        return self._one_more(held)[0]

    def append_cow(self, seq_id: Hashable, count: int = 1) -> Write:
        """As `BlockManager.append_cow`."""
        if count != 1:
            return super().append_cow(seq_id, count)
        slot, copy = self._one_more(self._find(seq_id))
        return Write(np.array([slot], dtype=np.int64), [] if copy is None else [copy])

    def extend(self, seq_id: Hashable, count: int) -> np.ndarray:
        """As `BlockManager.extend`: `append_tokens`."""
        held, count = self._find(seq_id), index(count)
        if count < 0:
            raise UsageError(f"cannot append {count} tokens")
        if count and held.num_tokens % self.block_size and self.pool.ref_count(held.table[-1]) != 1:
            self._refuse_shared(seq_id, held.table[-1])
        slots = self._grow(held.table, held.num_tokens, count)
        held.num_tokens += count
        return np.array(slots, dtype=np.int64)

    def slots(self, seq_id: Hashable, start: int = 0, stop: int | None = None) -> np.ndarray:
        """As `BlockManager.slots`: `slot_mapping`."""
        held = self._find(seq_id)
        stop = held.num_tokens if stop is None else stop
        if not 0 <= start <= stop <= held.num_tokens:
            return super().slots(seq_id, start, stop)  # says what is wrong
        return np.array(self.parts.pure("slot_mapping", held.table, start, stop, self.block_size), dtype=np.int64)

    def check(self, others: Iterable[int] = ()) -> None:
        """Walk the pool beside its books, and the tables beside both (I1 to I5)."""
        self.pool.check()
        super().check(others)

    def _one_more(self, held: Held) -> tuple[int, Copy | None]:
        """One token more: by `append_with_cow`, unless only `append_tokens` is the learner's and nobody shares."""
        mine = self.parts.mine
        alone = not held.num_tokens % self.block_size or self.pool.ref_count(held.table[-1]) == 1
        if alone and "append_tokens" in mine and "append_with_cow" not in mine:
            slot, copy = self._grow(held.table, held.num_tokens, 1)[0], None
        else:
            slot, copy = self._appended(held.table, held.num_tokens)
        held.num_tokens += 1
        return slot, copy

    def _forked(self, table: list[int]) -> list[int]:
        part = self.parts.mine.get("fork")
        if part is not None:
            given, before = list(table), list(self.pool.holders)
            got, error = self._tried("fork", lambda: part(given, self.pool), before)
            wrong = self._wrong_fork(table, given, (got, error), before)
            if not wrong:
                return list(map(int, got))
            self._undo("fork", f"fork(table={show(table, 50)}) {wrong}", before, "I2")
        self.pool.share(table)
        return list(table)

    def _wrong_fork(self, table: list[int], given: list[int], outcome: Outcome, before: list[int]) -> str:
        got, error = outcome
        if error is not None:
            return f"{said(error)}, expected a second table."
        if given != table:
            return f"changed the table it was given to {show(given, 50)}."
        if not isinstance(got, list) or got != table:
            return f"returned {show(got, 50)}, expected {show(table, 50)}."
        if got is given:
            return "returned the same list, expected a list of its own."
        for block in table:
            before[block] += 1
        wrong = self._owners(before)
        for block in table:
            before[block] -= 1
        return wrong

    def _grow(self, table: list[int], num_tokens: int, new_tokens: int) -> list[int]:
        part = self.parts.mine.get("append_tokens")
        if part is not None:
            grown, before = list(table), list(self.pool.holders)
            arguments = num_tokens, new_tokens, self.pool, self.block_size
            got, error = self._tried("append_tokens", lambda: part(grown, *arguments), before)
            wrong = self._wrong_growth(table, grown, num_tokens + new_tokens, new_tokens, (got, error), before)
            if not wrong and error is not None:
                raise error
            if not wrong:
                table[:] = grown
                return list(map(int, got))
            call = f"append_tokens(table={show(table, 50)}, num_tokens={num_tokens}, new_tokens={new_tokens}, ...)"
            self._undo("append_tokens", f"{call} {wrong}", before, "I4" if "slots" in wrong else "I3")
        missing = blocks_needed(num_tokens + new_tokens, self.block_size) - len(table)
        table += self.pool.take(missing)
        return slot_mapping(table, num_tokens, num_tokens + new_tokens, self.block_size)

    def _wrong_growth(self, table: list[int], grown: list[int], total: int, new_tokens: int, outcome: Outcome,
                      before: list[int]) -> str:
        got, error = outcome
        missing = blocks_needed(total, self.block_size) - len(table)
        if missing > before.count(0):
            return self._wrong_refusal(error, missing, grown != table, before)
        if error is not None:
            return f"{said(error)}, expected slots."
        if grown[: len(table)] != table or len(grown) != len(table) + missing:
            return f"left the table {show(grown, 50)}, expected {missing} new entries behind those it had."
        wrong = self._wrong_blocks(grown[len(table) :], before)
        if wrong:
            return wrong
        wanted = slot_mapping(grown, total - new_tokens, total, self.block_size)
        return "" if _are(got, wanted) else f"returned {show(got, 60)}, expected slots {show(wanted, 60)}."

    def _appended(self, table: list[int], num_tokens: int) -> tuple[int, Copy | None]:
        part = self.parts.mine.get("append_with_cow")
        if part is not None:
            grown, before = list(table), list(self.pool.holders)
            arguments = num_tokens, self.pool, self.block_size
            got, error = self._tried("append_with_cow", lambda: part(grown, *arguments), before)
            wrong, invariant = self._wrong_append(table, grown, num_tokens, (got, error), before)
            if not wrong and error is not None:
                raise error
            if not wrong:
                table[:] = grown
                slot, copy = got
                return int(slot), None if copy is None else (int(copy[0]), int(copy[1]))
            where = f"append_with_cow(table={show(table, 50)}, num_tokens={num_tokens}, ...)"
            self._undo("append_with_cow", f"{where} {wrong}", before, invariant)
        return append_with_cow(table, num_tokens, self.pool, self.block_size)

    def _wrong_append(self, table: list[int], grown: list[int], num_tokens: int, outcome: Outcome,
                      before: list[int]) -> tuple[str, str]:
        """What is wrong, and the invariant it breaks."""
        got, error = outcome
        offset = num_tokens % self.block_size
        shared = offset > 0 and before[table[-1]] > 1
        fresh = shared or not offset
        if fresh and not before.count(0):
            return self._wrong_refusal(error, 1, grown != table, before), "I13"
        if error is not None:
            return f"{said(error)}, expected a slot.", ""
        kept = table[:-1] if shared else table
        if grown[: len(kept)] != kept or len(grown) != len(kept) + fresh or (shared and grown[-1] == table[-1]):
            says = "a new block in the shared one's place" if shared else f"{int(fresh)} new entries"
            return f"left the table {show(grown, 50)}, expected {says}.", "I5" if shared else "I3"
        expected = list(before)
        expected[table[-1] if shared else grown[-1]] -= shared
        wrong = self._wrong_blocks(grown[len(kept) :] if fresh else [], expected)
        if wrong:
            return wrong, "I2"
        wanted = grown[-1] * self.block_size + offset, (table[-1], grown[-1]) if shared else None
        right = isinstance(got, tuple | list) and len(got) == 2 and _are([got[0]], [wanted[0]])
        right = right and (got[1] is None if wanted[1] is None else _are(got[1], list(wanted[1])))
        return ("" if right else f"returned {show(got, 50)}, expected {show(wanted, 50)}."), "I5" if shared else "I4"

    def _wrong_refusal(self, error: BaseException | None, missing: int, grown: bool, before: list[int]) -> str:
        """What is wrong with a call that must be refused, because so many blocks are missing (I13)."""
        if not isinstance(error, OutOfBlocks):
            what = said(error) if error is not None else "went on"
            return f"{what}, expected OutOfBlocks: {missing} needed, {before.count(0)} free."
        if grown or self.pool.holders != before:
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
        return self._owners(expected)

    def _owners(self, expected: list[int]) -> str:
        for block, (one, other) in enumerate(zip(self.pool.holders, expected, strict=True)):
            if one != other:
                return f"left block {block} with {one} owner{'s' * (one != 1)}, expected {other}."
        return ""

    def _tried(self, name: str, call: Callable[[], Any], before: list[int]) -> Outcome:
        """What a call returns or raises. If it is interrupted, the pool is as before."""
        try:
            return self.parts.attempt(name, call)
        except BaseException:
            self.pool.restore(before)
            raise

    def _undo(self, name: str, sentence: str, before: list[int], invariant: str) -> None:
        self.parts.blame(name, sentence, invariant)
        self.pool.restore(before)


def _are(got: Any, wanted: list[int]) -> bool:
    """Whether these are the whole numbers wanted, as a list, a tuple or an array."""
    try:
        found = list(got)
        return len(found) == len(wanted) and all(
            not isinstance(one, bool | float) and index(one) == other for one, other in zip(found, wanted, strict=True)
        )
    except TypeError:
        return False
