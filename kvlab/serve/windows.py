"""An engine's memory for models with sliding windows: a table for each group of layers, and what is behind a window
given back while requests run."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import Any, cast

from transformers import PreTrainedModel

from kvlab.errors import OutOfBlocks, UsageError
from kvlab.memory import (
    BlockManager,
    BlockPool,
    HybridManager,
    LayerGroups,
    PrefixIndex,
    WindowPrefixCache,
    blocks_needed,
    group_layers,
)
from kvlab.memory.configs import layer_windows
from kvlab.memory.swap import Pairs

from .admission import Limits, Share
from .limits import NeverFits
from .memories import Memory
from .policies import Job
from .reuse import Prefix, Reuse
from .stores import PagedStore


def window_index(prefix: object, manager: HybridManager) -> PrefixIndex | None:
    """The prefix index of a model all of whose layers are of one kind; anything else is refused with `UsageError`."""
    if prefix is None:
        return None
    if len(manager.groups) > 1:
        raise UsageError(
            f"prefix= and hybrid= do not go together for a model with {len(manager.groups)} groups of layers: a hit "
            "would have to be one in each of them"
        )
    window = manager.windows[0]
    if prefix == "hash" and window is not None:
        return WindowPrefixCache(manager.pool, manager.block_size, window)
    if isinstance(prefix, WindowPrefixCache) and prefix.window == window:
        return prefix
    raise UsageError(f'behind a window of {window} prefixes are found by prefix="hash", not by {prefix!r:.60}')


def refuse_beside_windows(**others: object) -> None:
    """`UsageError` for the first option that is switched on and does not go with `hybrid=`."""
    for name, value in others.items():
        if value:
            raise UsageError(f"{name}= and hybrid= do not go together: blocks behind a window are in no other place")


class WindowLimits(Limits):
    """What a request may need at most in all groups of layers together. See `Limits`.

    If the manager knows no `chunk`, room for a prompt is taken at once, and a window does not lower what is needed.
    """

    def __init__(self, manager: HybridManager, max_positions: int | None) -> None:
        super().__init__(manager.pool.num_free, manager.block_size, max_positions)
        self.manager = manager

    def share(self, prompt: int, max_new_tokens: int, branches: int = 1) -> Share:
        """`Share` of all groups; a branch needs its own window, and no more than a request without a window would."""
        kept = prompt + max_new_tokens - 1
        if self.max_positions is not None and kept > self.max_positions:
            raise NeverFits("positions of the model", kept, self.max_positions)
        blocks = sum(self._blocks(group, prompt, kept, branches) for group in range(len(self.manager.groups)))
        if blocks > self.num_blocks:
            what = f"blocks of {self.block_size} slots ({prompt} + {max_new_tokens} tokens, {branches} ways)"
            raise NeverFits(what, blocks, self.num_blocks)
        return Share(0, blocks)

    def _blocks(self, group: int, prompt: int, kept: int, branches: int) -> int:
        common, needed = prompt // self.block_size, blocks_needed(kept, self.block_size)
        full = common + branches * (needed - common)
        most = self.manager.most_blocks(group, kept)
        return full if self.manager.chunk is None else min(full, most if branches == 1 else (1 + branches) * most)


class WindowStore(PagedStore):
    """`PagedStore` on a `HybridManager`: what no token will see again is given back before anything is taken.

    That is so also when the call is then refused; nothing else changes. There is no host to swap to.
    """

    manager: Any

    def __init__(self, manager: HybridManager, reuse: Any = None) -> None:
        super().__init__(cast(BlockManager, manager), 0, reuse)

    def admit(self, job: Job, spare: int) -> int:
        """Blocks for the job's tokens in every group, while `spare` stay free. Returns how many are there already."""
        found = self.reuse.match(job).blocks if self.reuse is not None else []
        held = sum(self.manager.pool.ref_count(block) > 0 for block in found)
        needed = self.manager.blocks_to_admit(job.length, found) - held + spare
        if needed > self.num_free:
            raise OutOfBlocks(needed, self.num_free)
        self.manager.admit(job.id, job.length, found)
        if self.reuse is not None:
            self.reuse.entered(job, len(found))
        return len(found) * self.block_size

    def room(self, job: Job, stop: int) -> int:
        """Move the windows of a job that runs its prompt on to what is computed; the end of a chunk that has room."""
        return min(stop, self.manager.advance(job.id, job.computed, job.length))

    def append_each(self, ids: Collection[Hashable]) -> tuple[list[int], Pairs]:
        """A slot for one token more for each, all or none, and the copies to make before they are written."""
        self.manager.slide(ids)
        return self.manager.append_each(ids)

    def num_held(self, ids: Collection[Hashable]) -> int:
        """Blocks that these jobs hold, each counted once, and not the null block."""
        return sum(self.manager.num_held(ids))


class WindowMemory(Memory):
    """`Memory` of a model with windows, all layers of which slide, or some."""

    def __init__(
        self, groups: LayerGroups, num_blocks: int, block_size: int, chunk: int, prefix: object, checked: bool
    ) -> None:
        windows = [group.window for group in groups]
        pool = BlockPool(num_blocks, null_block=True)
        manager = HybridManager(pool, block_size, windows, chunk if prefix is None else None)
        self.groups, self.manager = groups, cast(BlockManager, manager)  # it offers what is asked of one here
        self.reuse = Reuse(window_index(prefix, manager), self.manager, checked)
        self.store = WindowStore(manager, self.reuse)

    def limits(self, max_positions: int | None) -> Limits:
        """What a request may need, windows taken into account."""
        return WindowLimits(cast(HybridManager, self.manager), max_positions)


def memory_for(
    model: PreTrainedModel,
    num_blocks: int,
    block_size: int,
    manager: BlockManager | None,
    host_blocks: int,
    prefix: Prefix | None,
    checked: bool,
    tiers: bool,
    chunk: int | None,
) -> Memory:
    """An engine's memory, see `Memory`; of a model with windows one that gives back what is behind them, given `chunk`.

    chunk: tokens of a step at most; None: one table for all layers. What does not go with windows: `UsageError`.
    """
    groups = None if chunk is None else group_layers(layer_windows(model.config))
    if chunk is None or groups is None or all(group.window is None for group in groups):
        return Memory(manager, num_blocks, block_size, host_blocks, prefix, checked)
    refuse_beside_windows(manager=manager is not None, host_blocks=host_blocks, tiers=tiers)
    return WindowMemory(groups, num_blocks, block_size, chunk, prefix, checked)
