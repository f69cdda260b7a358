"""Full and sliding layers out of one pool: a block table for each group of layers, and blocks that serve any of them.

After vLLM's hybrid KV cache manager. With one table for all layers a sliding layer could give nothing back, since the
full layers still need the block; with a pool for each kind of layer, one could be empty while the other is not.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from operator import index

import numpy as np

from kvlab.errors import InvariantBroken, OutOfBlocks, UsageError

from .audit import check_tables, waste_of
from .growth import needing_a_block
from .manager import BlockManager
from .pool import BlockPool
from .sharing import Copy
from .table import Held, blocks_needed
from .waste import Waste
from .window import WindowManager, gone_blocks


class HybridManager:
    """Block tables of sequences, one for each group of layers, on one pool of blocks of `block_size` slots.

    windows: for each group, how many tokens its layers see, None for all. A pool that is to serve a window has a null
    block, else `UsageError`. chunk: a prompt runs at most so many tokens at a time. Then a group with a window takes,
    for a prompt however long, only what such a chunk and the window before it lie in (`most_blocks`), and `advance`
    moves it on; without, it takes room for the whole prompt at once. A call that is refused changes nothing (I13).
    """

    def __init__(
        self, pool: BlockPool, block_size: int, windows: Sequence[int | None], chunk: int | None = None
    ) -> None:
        if not windows:
            raise UsageError("a model has at least one group of layers")
        if chunk is not None and chunk < 1:
            raise UsageError(f"a chunk has at least 1 token, not {chunk}")
        self.pool, self.block_size, self.windows, self.chunk = pool, block_size, tuple(windows), chunk
        self.groups = [
            BlockManager(pool, block_size) if window is None else WindowManager(pool, block_size, window)
            for window in windows
        ]

    def __repr__(self) -> str:
        kinds = ", ".join("full" if window is None else f"window {window}" for window in self.windows)
        return f"HybridManager({len(self)} sequences, {kinds}, blocks of {self.block_size}, {self.pool!r})"

    def __contains__(self, seq_id: Hashable) -> bool:
        return any(seq_id in group for group in self.groups)  # of one that was interrupted, perhaps in one only

    def __len__(self) -> int:
        return len(self.groups[0])

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.groups[0])

    def most_blocks(self, group: int, num_tokens: int) -> int:
        """Blocks that `group` ever holds for a sequence of at most `num_tokens` tokens.

        A window of W tokens and a chunk of C reach over W + C - 1 tokens, which touch one block more than they fill.
        """
        window, needed = self.windows[group], blocks_needed(num_tokens, self.block_size)
        if window is None or self.chunk is None:
            return needed
        return min(needed, blocks_needed(window + self.chunk - 2, self.block_size) + 1)

    def blocks_to_admit(self, num_tokens: int, prefix: Sequence[int] = ()) -> int:
        """Blocks, in all groups, that `admit` names for so many tokens, those of `prefix` included."""
        if prefix:
            return blocks_needed(num_tokens, self.block_size)
        return sum(self.most_blocks(group, num_tokens) for group in range(len(self.groups)))

    def admit(self, seq_id: Hashable, num_tokens: int, prefix: Sequence[int] = ()) -> list[list[int]]:
        """Give a new sequence of `num_tokens` tokens its blocks in every group, and return its tables.

        prefix: as for `BlockManager.admit`, where there is one group; with more of them: `UsageError`. Then room is
        taken for all tokens at once, since blocks that others hold too come back to nobody when they are released.
        """
        if prefix and len(self.groups) > 1:
            raise UsageError(f"a prefix is named for one group of layers, and there are {len(self.groups)}")
        if seq_id in self:
            raise UsageError(f"sequence {seq_id!r} is admitted already")
        num_tokens = index(num_tokens)
        needed = self.blocks_to_admit(num_tokens, prefix)
        if not prefix and needed > self.pool.num_free:
            raise OutOfBlocks(needed, self.pool.num_free)
        for number, group in enumerate(self.groups):
            most = self.most_blocks(number, num_tokens) * self.block_size
            group.admit(seq_id, num_tokens if prefix else min(num_tokens, most), prefix)
        return self.tables(seq_id)

    def advance(self, seq_id: Hashable, start: int, num_tokens: int) -> int:
        """Move the windows of a sequence, `start` of whose `num_tokens` tokens are written, on to there.

        What no later token sees is released, and blocks are taken for what comes, as many as the group had before.
        Returns how many tokens have room in all groups now: at least `chunk` more than `start`, or all, unless others
        share its blocks and none is free.
        """
        for number, group in enumerate(self.groups):
            if isinstance(group, WindowManager):
                group.slide(seq_id, start)
                most = gone_blocks(start, group.window, self.block_size) + self.most_blocks(number, num_tokens)
                self._reach(group, seq_id, num_tokens, most)
        return min(group.num_tokens(seq_id) for group in self.groups)

    def _reach(self, group: WindowManager, seq_id: Hashable, num_tokens: int, most: int) -> None:
        """Let the table grow to what `num_tokens` tokens need, but to no more than `most` entries, as far as it can."""
        there = group.num_tokens(seq_id)
        entries = blocks_needed(there, self.block_size)
        entries += min(max(0, most - entries), self.pool.num_free)
        group.extend(seq_id, max(0, min(num_tokens, entries * self.block_size) - there))

    def slide(self, seq_ids: Iterable[Hashable]) -> int:
        """Release what the next token of each of these sequences will not see; returns how many blocks that were."""
        windowed = [group for group in self.groups if isinstance(group, WindowManager)]
        return sum(group.slide(seq_id) for seq_id in seq_ids for group in windowed)

    def append_each(self, seq_ids: Iterable[Hashable]) -> tuple[list[int], list[Copy]]:
        """One token more for each sequence: its slots in the first group, and the copies to make before, of all groups.

        The slots in the others are those of `slots`. All of them or, with `OutOfBlocks`, none.
        """
        ids = list(seq_ids)
        needed = sum(len(needing_a_block(group.held(ids), self.pool.counts, self.block_size)) for group in self.groups)
        if needed > self.pool.num_free:
            raise OutOfBlocks(needed, self.pool.num_free)
        grown = [group.append_each(ids) for group in self.groups]
        return grown[0][0], [copy for _, copies in grown for copy in copies]

    def fork(self, parent: Hashable, children: Iterable[Hashable]) -> None:
        """Admit each of `children` with the tokens and the blocks of `parent`, in every group. Nothing is copied."""
        ids = children if isinstance(children, str) else list(children)
        for group in self.groups:
            group.fork(parent, ids)

    def remap(self, seq_id: Hashable, blocks: Mapping[int, int]) -> None:
        """`BlockManager.remap` in the table of a model with one group; with more: `UsageError`."""
        if len(self.groups) > 1:
            raise UsageError(f"blocks are replaced in one table, and there are {len(self.groups)}")
        self.groups[0].remap(seq_id, blocks)

    def slots(self, seq_id: Hashable, start: int = 0, stop: int | None = None, group: int = 0) -> np.ndarray:
        """Slots of the tokens at positions `start` to `stop - 1`, int64, by the table of `group` (I4)."""
        return self.groups[group].slots(seq_id, start, stop)

    def free(self, seq_id: Hashable) -> None:
        """Forget the sequence and release its blocks in every group. An id that is not admitted: `UsageError`."""
        for group in [group for group in self.groups if seq_id in group] or self.groups:
            group.free(seq_id)

    def table(self, seq_id: Hashable, group: int = 0) -> list[int]:
        """A copy of the sequence's block table in one group."""
        return self.groups[group].table(seq_id)

    def tables(self, seq_id: Hashable) -> list[list[int]]:
        """Copies of the sequence's tables, one a group."""
        return [group.table(seq_id) for group in self.groups]

    def num_held(self, seq_ids: Iterable[Hashable]) -> list[int]:
        """Blocks that these sequences hold in each group, each counted once, the null block never."""
        ids = list(seq_ids)
        return [len({block for one in ids for block in group.table(one)} - {self.pool.null}) for group in self.groups]

    def num_tokens(self, seq_id: Hashable) -> int:
        """How many tokens the sequence has; groups with a window may have room for fewer of them yet."""
        return max(group.num_tokens(seq_id) for group in self.groups)

    def waste(self) -> Waste:
        """Where the pool's slots are; see `BlockManager.waste`."""
        return waste_of(self.pool, self.block_size, self._tables.values())

    def check(self, others: Iterable[int] = ()) -> None:
        """Walk everything: the pool (I1), the tables of all groups together (I2 to I5), and the windows.

        No block but the null block is named in two groups: each would write its own layers into it (I5).
        """
        self.pool.check()
        tables = self._tables
        check_tables(self.pool, self.block_size, tables, others)
        owner: dict[int, int] = {}
        for (number, seq_id), held in tables.items():
            for block in set(held.table) - {self.pool.null}:
                if owner.setdefault(block, number) != number:
                    raise InvariantBroken("I5", f"block {block} of {seq_id!r} is in groups {owner[block]} and {number}")
        for group in self.groups:
            if group.sequences.keys() != self.groups[0].sequences.keys():
                raise InvariantBroken("I2", "a sequence is admitted in some groups of layers and not in others")
            if isinstance(group, WindowManager):
                group.check_windows()

    @property
    def _tables(self) -> dict[tuple[int, Hashable], Held]:
        return {
            (number, one): held for number, group in enumerate(self.groups) for one, held in group.sequences.items()
        }
