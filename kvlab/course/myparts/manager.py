"""The block manager of an engine whose tables are made and grown by the functions of labs 03 and 06."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from operator import index
from typing import Any

import numpy as np

from kvlab.course.myparts.parts import Parts
from kvlab.course.myparts.pool import OwnPool
from kvlab.course.myparts.tables import TableCall
from kvlab.course.shorten import show
from kvlab.errors import OutOfBlocks, UsageError
from kvlab.memory import BlockManager, append_with_cow, blocks_needed, slot_mapping
from kvlab.memory.sharing import Copy, Write
from kvlab.memory.table import Held
from kvlab.serve.stores import PagedStore


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
            given, call = list(table), TableCall(self.pool, table)
            got, error = self._tried("fork", lambda: part(given, self.pool), call)
            wrong = call.wrong_fork(given, got, error)
            if not wrong:
                return list(map(int, got))
            self._undo("fork", f"fork(table={show(table, 50)}) {wrong}", call, "I2")
        self.pool.share(table)
        return list(table)

    def _grow(self, table: list[int], num_tokens: int, new_tokens: int) -> list[int]:
        part = self.parts.mine.get("append_tokens")
        if part is not None:
            grown, call = list(table), TableCall(self.pool, table)
            arguments = num_tokens, new_tokens, self.pool, self.block_size
            got, error = self._tried("append_tokens", lambda: part(grown, *arguments), call)
            wrong = call.wrong_growth(grown, num_tokens, new_tokens, self.block_size, got, error)
            if not wrong and error is not None:
                raise error
            if not wrong:
                table[:] = grown
                return list(map(int, got))
            where = f"append_tokens(table={show(table, 50)}, num_tokens={num_tokens}, new_tokens={new_tokens}, ...)"
            self._undo("append_tokens", f"{where} {wrong}", call, "I4" if "slots" in wrong else "I3")
        missing = blocks_needed(num_tokens + new_tokens, self.block_size) - len(table)
        table += self.pool.take(missing)
        return slot_mapping(table, num_tokens, num_tokens + new_tokens, self.block_size)

    def _appended(self, table: list[int], num_tokens: int) -> tuple[int, Copy | None]:
        part = self.parts.mine.get("append_with_cow")
        if part is not None:
            grown, call = list(table), TableCall(self.pool, table)
            arguments = num_tokens, self.pool, self.block_size
            got, error = self._tried("append_with_cow", lambda: part(grown, *arguments), call)
            wrong, invariant = call.wrong_append(grown, num_tokens, self.block_size, got, error)
            if not wrong and error is not None:
                raise error
            if not wrong:
                table[:] = grown
                slot, copy = got
                return int(slot), None if copy is None else (int(copy[0]), int(copy[1]))
            where = f"append_with_cow(table={show(table, 50)}, num_tokens={num_tokens}, ...)"
            self._undo("append_with_cow", f"{where} {wrong}", call, invariant)
        return append_with_cow(table, num_tokens, self.pool, self.block_size)

    def _tried(self, name: str, work: Callable[[], Any], call: TableCall) -> tuple[Any, BaseException | None]:
        """What a call returns or raises. If it is interrupted, the pool is as before."""
        try:
            return self.parts.attempt(name, work)
        except BaseException:
            self.pool.restore(call.before)
            raise

    def _undo(self, name: str, sentence: str, call: TableCall, invariant: str) -> None:
        self.parts.blame(name, sentence, invariant)
        self.pool.restore(call.before)
