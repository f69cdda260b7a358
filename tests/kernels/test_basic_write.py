"""Lab 05's write and copy kernels do what `kvlab.compute` does, bit for bit, and touch nothing else."""

from __future__ import annotations

import pytest
import torch

from kvlab import compute
from kvlab.kernels.basic_copy import basic_copy
from kvlab.kernels.basic_write import basic_write
from tests.kernels.basic_batches import DEVICE


def pools(blocks=5, block_size=4, kv_heads=2, dim=16, dtype=torch.float32):
    shape = (blocks, block_size, kv_heads, dim)
    return [torch.randn(shape).to(dtype).to(DEVICE) for _ in range(2)]


@pytest.mark.parametrize(
    ("block_size", "kv_heads", "dim"), [(1, 1, 1), (4, 2, 16), (16, 3, 24), (8, 8, 128), (2, 1, 576)]
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_f45_rows_of_every_width_land_in_their_slots(block_size, kv_heads, dim, dtype):
    ours = pools(5, block_size, kv_heads, dim, dtype)
    theirs = [pool.clone() for pool in ours]
    slots = torch.randperm(5 * block_size)[:4].to(DEVICE)
    rows = [torch.randn(4, kv_heads, dim).to(dtype).to(DEVICE) for _ in range(2)]
    basic_write(*rows, *ours, slots)
    compute.write_kv(*theirs, *rows, slots)
    assert all(torch.equal(one, other) for one, other in zip(ours, theirs, strict=True))


def test_f25_slot_minus_one_writes_nothing_and_the_last_slot_is_untouched():
    ours = pools()
    before = [pool.clone() for pool in ours]
    rows = [torch.randn(3, 2, 16, device=DEVICE) for _ in range(2)]
    basic_write(*rows, *ours, torch.tensor([-1, 6, -1], device=DEVICE))
    for now, then, row in zip(ours, before, rows, strict=True):
        then.view(20, 2, 16)[6] = row[1]
        assert torch.equal(now, then)


def test_rows_seen_through_a_transpose_and_no_rows_at_all():
    ours, rows = pools(), torch.randn(2, 3, 16, device=DEVICE).transpose(0, 1)
    basic_write(rows, rows, *ours, torch.tensor([4, 0, 19], device=DEVICE))
    assert torch.equal(ours[1].view(20, 2, 16)[[4, 0, 19]], rows)
    basic_write(rows[:0], rows[:0], *ours, torch.tensor([], dtype=torch.int64, device=DEVICE))


def test_rows_that_do_not_fit_are_refused():
    row = torch.randn(1, 2, 16, device=DEVICE)
    with pytest.raises(ValueError, match="2 slots need rows"):
        basic_write(row, row, *pools(), torch.tensor([0, 1], device=DEVICE))
    with pytest.raises(ValueError, match="one shape"):
        basic_write(row, row, pools()[0], pools(dim=32)[0], torch.tensor([0], device=DEVICE))


@pytest.mark.parametrize("tile", [16, 64, 1024])
@pytest.mark.parametrize("shape", [(6, 4, 2, 16), (6, 3, 1, 5), (6, 16, 2, 8)])
def test_blocks_are_copied_whole_and_alone(shape, tile):
    ours = torch.randn(shape, device=DEVICE)
    theirs = ours.clone()
    basic_copy(ours, torch.tensor([5, 0], device=DEVICE), torch.tensor([1, 3], device=DEVICE), tile=tile)
    compute.copy_blocks(theirs, [(5, 1), (0, 3)])
    assert torch.equal(ours, theirs)


def test_no_pairs_copy_nothing_and_pairs_must_be_pairs():
    none = torch.tensor([], dtype=torch.int32, device=DEVICE)
    ours = pools()[0]
    before = ours.clone()
    basic_copy(ours, none, none)
    assert torch.equal(ours, before)
    with pytest.raises(ValueError, match="pairs"):
        basic_copy(ours, none, torch.tensor([1], device=DEVICE))
