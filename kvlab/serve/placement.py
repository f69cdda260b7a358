"""Where a step's tokens go: slots for each row, blocks copied before a shared one is written, forks, and releases."""

from __future__ import annotations

from collections.abc import Sequence

from kvlab.errors import InvariantBroken
from kvlab.memory import BlockManager, slot_mapping

from .batch import Batch, Row, flatten
from .hf import PagedModel
from .request import Generation


class Placement:
    """The block manager's decisions, carried out on the pools of `paged`. Every method can be repeated."""

    def __init__(self, manager: BlockManager, paged: PagedModel) -> None:
        self.manager, self.paged = manager, paged
        self._copies: list[tuple[int, int]] = []

    def place(self, chosen: Sequence[tuple[Generation, int]], checked: bool = False) -> Batch:
        """The batch of a step in which each generation runs so many tokens. Blocks that it writes to are its own.

        checked: slots are compared with tables (I4), and holders counted (I5).
        """
        rows = []
        for generation, count in chosen:
            start, stop = generation.computed, generation.computed + count
            slots = self._slots(generation, start, stop)
            table = self.manager.table(generation.id)
            if checked:
                self._check(generation, slots, table, start)
            tokens = generation.pending_tokens(count)
            rows.append(Row(tokens, start, table, slots, wants_logits=count == generation.pending))
        self.copy()
        return flatten(rows, self.manager.block_size, self.paged.device)

    def _slots(self, generation: Generation, start: int, stop: int) -> list[int]:
        missing = stop - self.manager.num_tokens(generation.id)
        if generation.group is not None and missing > 0:
            self._copies += self.manager.append_cow(generation.id, missing).copies
        elif missing == stop - start == 1:
            return [self.manager.append(generation.id)]
        else:  # a chunk, or tokens that have their slots from a step that failed
            self.manager.extend(generation.id, max(0, missing))
        return self.manager.slots(generation.id, start, stop).tolist()

    def _check(self, generation: Generation, slots: list[int], table: list[int], start: int) -> None:
        size = self.manager.block_size
        if slots != slot_mapping(table, start, start + len(slots), size):
            raise InvariantBroken("I4", f"request {generation.id!r}: slots {slots} are not those of its table {table}")
        shared = sorted({slot // size for slot in slots if self.manager.pool.ref_count(slot // size) != 1})
        if shared:
            raise InvariantBroken("I5", f"request {generation.id!r} is to write to blocks {shared}, which others hold")

    def copy(self) -> None:
        """Make the copies that are due, for all sequences at once. Before anything is written, forked or freed."""
        if self._copies:
            self.paged.cache.copy_blocks(self._copies)
            self._copies = []

    def fork(self, parent: Generation, children: Sequence[Generation]) -> None:
        """Give each of `children` the blocks of `parent`."""
        self.manager.fork(parent.id, [child.id for child in children if child.id not in self.manager])
        for child in children:
            child.computed = parent.computed

    def release(self, generation: Generation) -> None:
        """Give its blocks back."""
        if generation.id in self.manager:
            self.manager.free(generation.id)
