"""An engine's memory: who has which blocks, what is found in them again, and what may be asked for."""

from __future__ import annotations

from kvlab.errors import UsageError
from kvlab.memory import BlockManager, LayerGroups

from .admission import Limits
from .reuse import Prefix, Reuse, index_for
from .stores import PagedStore


class Memory:
    """One table a request, for all layers of the model.

    manager: a stand-in for `BlockManager`, of as many blocks of the same size, else `UsageError`; None makes one.
    Its `store_type`, if it has one, makes the store. host_blocks, prefix, checked: see `Engine`.
    """

    groups: LayerGroups | None = None

    def __init__(
        self,
        manager: BlockManager | None,
        num_blocks: int,
        block_size: int,
        host_blocks: int = 0,
        prefix: Prefix | None = None,
        checked: bool = False,
    ) -> None:
        self.manager = _manager(manager, num_blocks, block_size)
        self.reuse = Reuse(index_for(prefix, self.manager), self.manager, checked)
        store_type: type[PagedStore] = getattr(self.manager, "store_type", PagedStore)
        self.store = store_type(self.manager, host_blocks, self.reuse)

    def limits(self, max_positions: int | None) -> Limits:
        """What a request may need."""
        return Limits(self.manager.pool.num_free, self.manager.block_size, max_positions)


def _manager(manager: BlockManager | None, num_blocks: int, block_size: int) -> BlockManager:
    """A new manager, or the one given if it has as many blocks of the same size."""
    if manager is None:
        return BlockManager(num_blocks, block_size)
    managed = manager.pool.num_blocks, manager.block_size
    if managed != (num_blocks, block_size):
        raise UsageError(
            f"the manager has {managed[0]} blocks of {managed[1]} slots, the engine {num_blocks} of {block_size}"
        )
    return manager
