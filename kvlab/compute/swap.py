"""Blocks on the host: the tensors that swapped sequences lie in, and the copies there and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch
from torch import Tensor

from kvlab.errors import UsageError

from .cache import PagedCache
from .float8 import as_bytes
from .streams import CopyStream


class HostCache:
    """Room for `num_blocks` blocks of every layer of `cache`, in the host's memory. A `Swapper` says which go where.

    On a GPU the memory is pinned and copies run on a stream of their own, beside the model. What must not overlap does
    not: a block is gathered before any later step writes to it, blocks that come back are there before any later step
    reads them, and all copies come in the order in which they were asked for, so that a host block is read before it is
    written again.
    """

    def __init__(self, cache: PagedCache, num_blocks: int) -> None:
        if num_blocks < 1:
            raise UsageError(f"a host cache needs at least 1 block, not {num_blocks}")
        self.cache, self.num_blocks = cache, num_blocks
        self._pools: dict[tuple[str, int], Tensor] = {}
        self._copies = CopyStream()

    @property
    def num_bytes(self) -> int:
        """Bytes of the host's memory that it takes; none before the first copy."""
        return sum(pool.numel() * pool.element_size() for pool in self._pools.values())

    def copy_out(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Copy blocks (pool block, host block) to the host. The pool's blocks may be written by whatever comes next.

        A host block named twice is refused with `UsageError`, since it can hold only one.
        """
        sources, targets = _columns(pairs, self.num_blocks, 1)
        for pool, host in self._layers(bool(sources)):
            with self._copies.beside(pool.device) as gone:
                held = pool.index_select(0, torch.tensor(sources, device=pool.device))
                gone()
                _scatter(host, targets, held)

    def copy_in(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Copy blocks (host block, pool block) back. Whatever comes next may read them."""
        sources, targets = _columns(pairs, self.num_blocks, 0)
        for pool, host in self._layers(bool(sources)):
            with self._copies.beside(pool.device) as there:
                held = torch.empty((len(sources), *pool.shape[1:]), dtype=pool.dtype, device=pool.device)
                for place, block in enumerate(sources):
                    held[place].copy_(host[block], non_blocking=True)
                pool.index_copy_(0, torch.tensor(targets, device=pool.device), held)
                there()

    def _layers(self, wanted: bool) -> Iterator[tuple[Tensor, Tensor]]:
        """Every pool of the cache, float8 as bytes, and its place on the host, made when it is first wanted."""
        if not wanted:
            return
        for name, pool in self.cache.pools():
            pool = as_bytes(pool)
            if name not in self._pools:
                size = (self.num_blocks, *pool.shape[1:])
                self._pools[name] = torch.zeros(size, dtype=pool.dtype, pin_memory=pool.is_cuda)
            yield pool, self._pools[name]


def _scatter(host: Tensor, targets: list[int], held: Tensor) -> None:
    """Each block of `held` to its place on the host."""
    if held.device.type == "cpu":
        host.index_copy_(0, torch.tensor(targets), held)
        return
    for place, block in enumerate(targets):
        host[block].copy_(held[place], non_blocking=True)


def _columns(pairs: Iterable[tuple[int, int]], num_blocks: int, side: int) -> tuple[list[int], list[int]]:
    """Sources and targets; the host's, on the given side, must be there, and each target named once."""
    pairs = list(pairs)
    hosts = [pair[side] for pair in pairs]
    if hosts and not 0 <= min(hosts) <= max(hosts) < num_blocks:
        raise UsageError(f"host blocks go from 0 to {num_blocks - 1}, not from {min(hosts)} to {max(hosts)}")
    targets = [target for _, target in pairs]
    if len(set(targets)) < len(targets):
        twice = next(target for target in targets if targets.count(target) > 1)
        raise UsageError(f"block {twice} is to be written twice")
    return [source for source, _ in pairs], targets
