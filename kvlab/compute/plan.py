"""How a flattened batch is cut into padded groups, decided once a step with integers and used by every layer.

The rows of a batch differ in length, torch's kernels want rectangles. A group is a set of sequences of about the same
size: their blocks are gathered side by side, `[sequences, keys]`, and what sticks out is masked. Few groups waste
padding, many waste calls; `SLACK` is where the two were equal when it was measured.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from kvlab.errors import UsageError

SLACK = 4000  # padded work, in units of `_work`, that costs about as much as one more group

MOST_KEYS = 2048  # keys gathered for one group, so that they are still in the processor's cache when they are attended


def _work(queries: int, keys: int) -> int:
    """What a sequence costs: its scores, and the gathering of its keys, which weighs about as much as 6 scores each."""
    return (queries + 6) * keys


@dataclass
class Group:
    """Sequences that are attended together: `sequences` x `queries` x `keys`, all padded to the longest.

    rows: rows of the flattened batch, `[sequences * queries]` int64; padding repeats a sequence's last row. span:
    where they lie, if they are neighbours and in order. real: which of `rows` are not padding, int64, or None if all
    are. blocks: blocks to gather, `[sequences * keys / block_size]` int64; padding names block 0. stale: gathered key
    rows that no token of the sequence fills, int64: to be zeroed, whatever they hold (I6); or None. visible:
    `[sequences, 1, queries, keys]` bool. blind: rows `[sequences, queries]` that see no key at all, or None.
    """

    sequences: int
    queries: int
    keys: int
    rows: Tensor
    span: slice | None
    real: Tensor | None
    blocks: Tensor
    stale: Tensor | None
    visible: Tensor
    blind: Tensor | None
    _bias: dict[torch.dtype, Tensor] = field(default_factory=dict)

    def bias(self, dtype: torch.dtype) -> Tensor:
        """`visible` as numbers to add to the scores: 0 or -inf. Made once, since every layer asks for it."""
        if dtype not in self._bias:
            bias = torch.zeros(self.visible.shape, dtype=dtype, device=self.visible.device)
            self._bias[dtype] = bias.masked_fill_(~self.visible, float("-inf"))
        return self._bias[dtype]


class AttentionPlan:
    """The groups of one flattened batch, for every window that its layers ask for.

    tables: `[num_seqs, max_blocks]` block ids; entries beyond a sequence's last block are never used. query_lengths,
    context_lengths: integers, one a sequence; the queries are the last tokens of the context.
    """

    def __init__(
        self,
        tables: ArrayLike,
        query_lengths: ArrayLike,
        context_lengths: ArrayLike,
        block_size: int,
        device: torch.device | str = "cpu",
    ) -> None:
        self.tables = np.asarray(tables)
        if not self.tables.size:  # nobody has a block: a column that is never read keeps the arithmetic simple
            self.tables = np.zeros((len(self.tables), 1), dtype=np.int64)
        self.queries = np.asarray(query_lengths, dtype=np.int64)
        self.contexts = np.asarray(context_lengths, dtype=np.int64)
        self.starts = np.cumsum(self.queries) - self.queries
        self.block_size, self.device = block_size, device
        self.num_tokens = int(self.queries.sum())
        self._groups: dict[int | None, list[Group]] = {}

    def groups(self, window: int | None = None) -> list[Group]:
        """The groups for layers that see the last `window` (>= 1) tokens (None: all)."""
        if window not in self._groups:
            if window is not None and window < 1:
                raise UsageError(f"a window has at least 1 token, the one that looks, not {window}")
            self._groups[window] = [self._group(members, window) for members in self._members(window)]
        return self._groups[window]

    def keys_gathered(self, window: int | None = None) -> int:
        """Keys that one layer of that window copies out of its pool, padding included, and as many values."""
        return sum(group.sequences * group.keys for group in self.groups(window))

    def _members(self, window: int | None) -> list[np.ndarray]:
        """Sequences sorted by size, cut where one more means too much padding. Decoding ones stay by themselves."""
        seen = self.contexts if window is None else np.minimum(self.contexts, self.queries + window - 1)
        order = np.lexsort((-seen, -self.queries))
        order = order[self.queries[order] > 0]
        cuts: list[int] = []
        count, wide, long = 0, 0, 0
        sizes = zip(self.queries[order].tolist(), seen[order].tolist(), strict=True)
        for position, (queries, keys) in enumerate(sizes):
            grown = (count + 1) * _work(max(wide, queries), max(long, keys))
            padding = grown - count * _work(wide, long) - _work(queries, keys)
            full = (count + 1) * max(long, keys) > MOST_KEYS
            if count and (full or padding * (len(order) - position) > SLACK or (queries == 1) != (wide == 1)):
                cuts.append(position)
                count, wide, long = 0, 0, 0
            count, wide, long = count + 1, max(wide, queries), max(long, keys)
        return np.split(order, cuts) if len(order) else []

    def _group(self, members: np.ndarray, window: int | None) -> Group:
        blocks, key_at, stale = self._keys_of(members, window)
        query_at, rows, real = self._queries_of(members)
        blind = query_at < 0
        query_at = np.maximum(query_at, 0)  # a blind row looks at a zeroed key; its output is overwritten
        visible = key_at[:, None, :] <= query_at[:, :, None]
        if window is not None:
            visible &= key_at[:, None, :] > query_at[:, :, None] - window
        neighbours = real is None and bool((np.diff(rows) == 1).all())
        return Group(
            sequences=len(members),
            queries=query_at.shape[1],
            keys=key_at.shape[1],
            rows=self._tensor(rows),
            span=slice(int(rows[0]), int(rows[-1]) + 1) if neighbours else None,
            real=None if real is None else self._tensor(real),
            blocks=self._tensor(blocks),
            stale=self._tensor(stale) if len(stale) else None,
            visible=self._tensor(visible[:, None]),
            blind=self._tensor(blind) if blind.any() else None,
        )

    def _keys_of(self, members: np.ndarray, window: int | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Blocks to gather, positions of the gathered keys `[members, keys]`, and which of these rows are no tokens."""
        size, contexts = self.block_size, self.contexts[members]
        end = -(-contexts // size)
        if window is None:
            begin, most = None, int(end.max())
        else:  # nothing is read before the first block that any query of the sequence sees
            begin = np.maximum(contexts - self.queries[members] - window + 1, 0) // size
            most = int((end - begin).max())
        column = np.arange(max(1, most))[None] + (0 if begin is None else begin[:, None])
        inside = column < end[:, None]
        column = np.broadcast_to(column, inside.shape)
        taken = self.tables[members[:, None], np.minimum(column, self.tables.shape[1] - 1)]
        key_at = (column[:, :, None] * size + np.arange(size)).reshape(len(members), -1)
        stale = np.flatnonzero(key_at >= contexts[:, None])
        return np.where(inside, taken, 0).astype(np.int64).reshape(-1), key_at, stale

    def _queries_of(self, members: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Positions of the queries `[members, queries]`, their rows in the batch, and which are real, if not all."""
        starts, queries, contexts = self.starts[members], self.queries[members], self.contexts[members]
        widest = int(queries.max())
        if widest == 1:
            return contexts[:, None] - 1, starts, None
        step = np.arange(widest)
        padded = step >= queries[:, None]
        step = np.minimum(step, queries[:, None] - 1)
        real = np.flatnonzero(~padded) if padded.any() else None
        return (contexts - queries)[:, None] + step, (starts[:, None] + step).reshape(-1), real

    def _tensor(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)
