"""Blocks as rows of bytes: what was there when they were packed, whatever the pools' types are."""

from __future__ import annotations

import copy

import pytest
import torch

from kvlab.compute import LayerShape, PagedCache
from kvlab.compute.tier_store import SAMPLE, TierStore, fingerprint
from kvlab.errors import UsageError
from tests.serve.models import tiny

SHAPES = [LayerShape(2, 8, 8), LayerShape(1, 12, 5)]


def cache(dtype: torch.dtype = torch.float32, num_blocks: int = 6) -> PagedCache:
    made = PagedCache(num_blocks, 4, SHAPES, dtype=dtype)
    draw = torch.Generator().manual_seed(1)
    for pool in (*made.keys.values(), *made.values.values()):
        pool.copy_(torch.randn(pool.shape, generator=draw).to(dtype))
    return made


def bits(cache: PagedCache, block: int) -> list[list[int]]:
    pools = (*cache.keys.values(), *cache.values.values())
    return [pool[block].contiguous().view(torch.uint8).flatten().tolist() for pool in pools]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.float8_e4m3fn])
def test_blocks_come_back_bit_for_bit_wherever_they_go(dtype) -> None:
    held = cache(dtype)
    before = [bits(held, block) for block in range(6)]
    store = TierStore(held)
    rows, ready = store.pack([4, 1, 3])
    assert ready is None and rows.shape == (3, store.layout("m").block_bytes)
    store.unpack([0, 5, 1], rows)
    after = [bits(held, block) for block in range(6)]
    assert after == [before[4], before[3], before[2], before[3], before[4], before[1]]


def test_f29_what_is_written_to_a_block_after_it_was_packed_does_not_reach_the_row() -> None:
    held = cache()
    store, before = TierStore(held), bits(held, 2)
    rows, _ = store.pack([2])
    for pool in (*held.keys.values(), *held.values.values()):
        pool.fill_(float("nan"))
    store.unpack([5], rows)
    assert bits(held, 5) == before


def test_layouts_differ_when_bytes_mean_something_else() -> None:
    one = TierStore(cache()).layout("m")
    others = [
        TierStore(cache(torch.float64)).layout("m"),
        TierStore(PagedCache(6, 8, SHAPES)).layout("m"),
        TierStore(PagedCache(6, 4, SHAPES[::-1])).layout("m"),
        TierStore(cache()).layout("n"),
    ]
    assert len({one, *others}) == 5
    assert one == TierStore(cache(num_blocks=9)).layout("m")  # how many blocks there are makes no difference


@pytest.mark.parametrize(
    "wrong",
    [
        lambda store, rows: store.pack([6]),
        lambda store, rows: store.unpack([6, 0], rows),
        lambda store, rows: store.unpack([1], rows),
        lambda store, rows: store.unpack([1, 1], rows),
        lambda store, rows: store.unpack([1, 2], rows[:, :-1]),
        lambda store, rows: TierStore(PagedCache(2, 4)).layout("m"),
    ],
)
def test_rows_and_blocks_that_do_not_fit_are_refused_and_nothing_is_written(wrong) -> None:
    held = cache()
    store = TierStore(held)
    rows, _ = store.pack([0, 1])
    before = [bits(held, block) for block in range(6)]
    with pytest.raises(UsageError):
        wrong(store, rows)
    assert [bits(held, block) for block in range(6)] == before


def test_a_fingerprint_knows_a_model_by_its_weights_and_configuration(monkeypatch) -> None:
    model = tiny("llama")
    known = fingerprint(model)
    assert fingerprint(copy.deepcopy(model)) == known != fingerprint(tiny("gemma2"))
    changed = copy.deepcopy(model)
    with torch.no_grad():
        list(changed.parameters())[-1].view(-1)[-1] += 1e-3
    turned = copy.deepcopy(model)
    turned.config.rope_parameters = {"rope_type": "default", "rope_theta": 99.0}
    assert len({known, fingerprint(changed), fingerprint(turned), fingerprint(copy.deepcopy(model).half())}) == 4
    monkeypatch.setattr("kvlab.compute.tier_store.WHOLE_BYTES", 0)
    assert fingerprint(changed) != fingerprint(model)  # the last number of a tensor is in its sample
    large = torch.nn.Linear(SAMPLE, 3)
    assert fingerprint(large) == fingerprint(copy.deepcopy(large))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_on_a_gpu_blocks_are_gathered_before_they_are_written_again_and_there_before_they_are_read() -> None:
    held = PagedCache(64, 16, [LayerShape(8, 128, 128)] * 4, dtype=torch.bfloat16, device="cuda")
    for number, pool in enumerate((*held.keys.values(), *held.values.values())):
        pool.copy_(torch.randn_like(pool) + number)
    store, before = TierStore(held), bits(held, 7)
    rows, ready = store.pack([7, 8])
    for pool in (*held.keys.values(), *held.values.values()):
        pool[7:9].fill_(float("nan"))
    assert ready is not None
    ready()
    store.unpack([20, 21], rows)
    assert bits(held, 20) == before
