"""Blocks on the host: they come back as they went, whatever is written in between."""

from __future__ import annotations

import pytest
import torch

from kvlab.compute import HostCache, LayerShape, PagedCache
from kvlab.errors import UsageError
from kvlab.memory import BlockManager, Swapper


def cache(num_blocks: int = 6) -> PagedCache:
    made = PagedCache(num_blocks, 4, [LayerShape(2, 8, 8), LayerShape(1, 6, 4)])
    for pool in (*made.keys.values(), *made.values.values()):
        pool.copy_(torch.randn_like(pool))
    return made


def pools(made: PagedCache) -> list[torch.Tensor]:
    return [*made.keys.values(), *made.values.values()]


def test_blocks_come_back_as_they_went_into_other_places():
    made = cache()
    before = [pool.clone() for pool in pools(made)]
    host = HostCache(made, 3)
    assert host.num_bytes == 0
    host.copy_out([(1, 2), (4, 0)])
    assert host.num_bytes == 3 * 4 * made.bytes_per_token
    for pool in pools(made):
        pool.fill_(float("nan"))
    host.copy_in([(2, 5), (0, 1)])
    for pool, old in zip(pools(made), before, strict=True):
        assert torch.equal(pool[5], old[1]) and torch.equal(pool[1], old[4]) and pool[0].isnan().all()


def test_in_bf16_and_8_bit_every_bit_is_kept():
    made = PagedCache(3, 4, [LayerShape(2, 8, 8)], dtype=torch.bfloat16)
    made.keys[0].view(torch.int16).random_(-(2**15), 2**15)
    before, host = made.keys[0].clone(), HostCache(made, 2)
    host.copy_out([(0, 1), (2, 0)])
    made.keys[0].zero_()
    host.copy_in([(1, 0), (0, 2)])
    assert torch.equal(made.keys[0][[0, 2]].view(torch.int16), before[[0, 2]].view(torch.int16))


def test_a_swappers_plans_bring_every_sequence_back_to_its_own_content():
    made, manager = cache(8), BlockManager(8, 4)
    swapper, host = Swapper(manager, 5), HostCache(made, 5)
    manager.admit("a", 10)
    manager.fork("a", ["b"])
    content = [made.gather(layer, manager.table("a"), 10) for layer in (0, 1)]
    host.copy_out(swapper.swap_out(["a", "b"]))
    manager.admit("other", 20)
    for pool in pools(made):
        pool[manager.table("other")] = 7.0
    manager.free("other")
    host.copy_in(swapper.swap_in(["a", "b"]))
    for layer in (0, 1):
        for name in "ab":
            for now, then in zip(made.gather(layer, manager.table(name), 10), content[layer], strict=True):
                assert torch.equal(now, then)


def test_copies_that_cannot_be_right_are_refused():
    made = cache()
    host = HostCache(made, 2)
    with pytest.raises(UsageError, match="host blocks go from 0 to 1, not from 0 to 2"):
        host.copy_out([(0, 0), (1, 2)])
    with pytest.raises(UsageError, match="block 1 is to be written twice"):
        host.copy_out([(0, 1), (2, 1)])
    with pytest.raises(UsageError, match="host blocks go from 0 to 1, not from -1"):
        host.copy_in([(-1, 0)])
    with pytest.raises(UsageError, match="at least 1 block, not 0"):
        HostCache(made, 0)
    host.copy_out([])
    host.copy_in([])
    assert host.num_bytes == 0
