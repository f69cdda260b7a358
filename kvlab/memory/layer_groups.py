"""Which layers of a hybrid model share a block table: groups of one kind, all of one size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kvlab.errors import UsageError

NEARLY_EQUAL = 1.25
"""Kinds whose numbers of layers differ by less are cut at the larger one: a little padding, and half the groups."""


class LayerGroup(NamedTuple):
    """Layers that share a block table: they all see the last `window` tokens (None: all)."""

    window: int | None
    layers: tuple[int, ...]


class LayerGroups(tuple[LayerGroup, ...]):
    """The groups of one model, and where each layer lies in the pools.

    A physical block is `block_size` tokens of the layers of one group. There are `size` pool tensors, as many as the
    largest group has layers, and the i-th layer of every group uses the i-th: so a block id means the same bytes
    whichever group names it, and a block that a sliding layer gives back can serve a full one.
    """

    @property
    def size(self) -> int:
        """Layers of a group, and so pool tensors; a smaller group leaves the rest of its blocks empty."""
        return max(len(group.layers) for group in self)

    @property
    def padding(self) -> int:
        """Layers' worth of bytes that are never used in one block of each group."""
        return sum(self.size - len(group.layers) for group in self)

    @property
    def group_of(self) -> dict[int, int]:
        """Layer -> the number of its group."""
        return {layer: number for number, group in enumerate(self) for layer in group.layers}

    @property
    def place_of(self) -> dict[int, int]:
        """Layer -> its pool tensor."""
        return {layer: place for group in self for place, layer in enumerate(group.layers)}


def group_layers(windows: Sequence[int | None]) -> LayerGroups:
    """The groups of a model whose layers have these windows (None: full), in order.

    Each kind is cut into groups of as many layers as the rarest kind has, or as the commonest has if that is less than
    1.25 times as many. Gemma 3 27B, 52 sliding layers and 10 full ones, gives 7 groups of 10, of which one has 2.
    Source: vLLM's hybrid KV cache manager, `kv_cache_utils.py`, whose rule and whose 1.25 this is. No layer:
    `UsageError`.
    """
    kinds: dict[int | None, list[int]] = {}
    for layer, window in enumerate(windows):
        if window is not None and window < 1:
            raise UsageError(f"a window has at least 1 token, not {window} as in layer {layer}")
        kinds.setdefault(window, []).append(layer)
    if not kinds:
        raise UsageError("there is no layer to group")
    counts = [len(layers) for layers in kinds.values()]
    size = max(counts) if max(counts) < NEARLY_EQUAL * min(counts) else min(counts)
    return LayerGroups(
        LayerGroup(window, tuple(layers[start : start + size]))
        for window, layers in kinds.items()
        for start in range(0, len(layers), size)
    )
