"""A step's plan carried out on the pools: blocks copied first, then rows of tokens, each with its slots and table."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from kvlab.compute import HostCache
from kvlab.errors import InvariantBroken
from kvlab.memory import BlockManager, slot_mapping

from .batch import Batch, Row, flatten
from .hf import PagedModel
from .plan import Plan
from .request import Generation
from .tiering import Tiering

Ran = list[tuple[Generation, int]]
"""Who runs how many tokens."""


class Placement:
    """What the scheduler has planned, for the pools of `paged` and `host_blocks` blocks beside them on the host."""

    def __init__(self, manager: BlockManager, paged: PagedModel, host_blocks: int = 0) -> None:
        self.manager, self.paged = manager, paged
        self.tiers: Tiering | None = None
        self._groups = len(getattr(manager, "groups", [manager]))  # of layers, each with tables of its own
        self.host = HostCache(paged.cache, host_blocks) if host_blocks else None

    def place(self, plan: Plan, checked: bool = False) -> tuple[Batch, Ran]:
        """The batch of a step, and who runs how many tokens of it. It can be repeated, until something is written.

        checked: slots are compared with tables (I4), and holders counted (I5).
        """
        rows, ran = self.rows(plan, checked)
        self.copy(plan)
        return flatten(rows, self.manager.block_size, self.paged.device), ran

    def rows(self, plan: Plan, checked: bool = False) -> tuple[list[Row], Ran]:
        """The step's rows, and who runs how many tokens in each. Nothing is moved."""
        found: list[tuple[Generation, int, list[int]]] = [
            (generation, 1, [slot]) for generation, slot in zip(plan.decoding, plan.slots, strict=True)
        ]
        for generation, start, stop, _ in plan.chunks:
            found.append((generation, stop - start, self.manager.slots(generation.id, start, stop).tolist()))
        found.sort(key=lambda row: (-row[1], -row[0].length))  # neighbours of a size are attended in place
        return [self._row(*row, checked) for row in found], [row[:2] for row in found]

    def copy(self, plan: Plan) -> None:
        """Make the copies that are due, those of one kind for all sequences at once, before anything is written.

        What comes from tiers first: it goes to blocks that were just taken, and others may be copies of these.
        """
        if self.tiers is not None:
            self.tiers.copy_in()
        if self.host is not None:
            self.host.copy_out(plan.swap_out)
            self.host.copy_in(plan.swap_in)
        self.paged.cache.copy_blocks(plan.copies)
        for pairs in (plan.swap_out, plan.swap_in, plan.copies):
            pairs.clear()

    def _row(self, generation: Generation, count: int, slots: list[int], checked: bool) -> Row:
        start, table = generation.computed, self.manager.table(generation.id)
        others = [self._other(generation.id, group, start, start + count) for group in range(1, self._groups)]
        if checked:
            for there in [(table, slots), *others]:
                self._check(generation, there[1], there[0], start)
        tokens = generation.pending_tokens(count)
        return Row(tokens, start, table, slots, count == generation.pending, others)

    def _other(self, seq_id: Hashable, group: int, start: int, stop: int) -> tuple[list[int], list[int]]:
        """Table and slots of a sequence in a further group of layers."""
        manager: Any = self.manager
        return manager.table(seq_id, group), manager.slots(seq_id, start, stop, group).tolist()

    def _check(self, generation: Generation, slots: list[int], table: list[int], start: int) -> None:
        size = self.manager.block_size
        if slots != slot_mapping(table, start, start + len(slots), size):
            raise InvariantBroken("I4", f"request {generation.id!r}: slots {slots} are not those of its table {table}")
        shared = sorted({slot // size for slot in slots if self.manager.pool.ref_count(slot // size) != 1})
        if shared:
            raise InvariantBroken("I5", f"request {generation.id!r} is to write to blocks {shared}, which others hold")
