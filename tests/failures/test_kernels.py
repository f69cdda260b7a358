"""Failures that other systems' kernels had, by the course's own numbers."""

from __future__ import annotations

import importlib.util
import math
import mmap

import torch

if importlib.util.find_spec("triton"):  # Triton is there on Linux only
    import pytest

    from kvlab.compute import paged_attention
    from kvlab.kernels.copy_blocks import copy_blocks
    from kvlab.kernels.merge import merge
    from kvlab.kernels.paged_decode import paged_decode
    from kvlab.kernels.paged_prefill import paged_prefill
    from kvlab.kernels.write_kv import write_kv
    from tests.kernels.running import DEVICE, INTERPRETED, Batch, close, patched_once

    @pytest.fixture(scope="module", autouse=True)
    def quick_interpreter():
        with patched_once():
            yield

    OPTIONS = [{}, {"window": 30}, {"softcap": 2.0}, {"sinks": torch.linspace(-1, 1, 6, device=DEVICE)}]

    def decode(batch, heads, **options):
        query, _ = batch.queries([1] * len(batch.lengths), heads)
        arguments = (query, *batch.pools, batch.tables, batch.lengths)
        return paged_decode(*arguments, return_lse=True, num_splits=2, **options)

    def prefill(batch, heads, **options):
        query, start = batch.queries([min(4, int(length)) for length in batch.lengths], heads)
        arguments = (query, *batch.pools, batch.tables, start, batch.lengths)
        return paged_prefill(*arguments, return_lse=True, **options)

    BOTH = pytest.mark.parametrize("attend", [decode, prefill])

    @BOTH
    @pytest.mark.parametrize("options", OPTIONS, ids=[" ".join(options) or "plain" for options in OPTIONS])
    def test_f21_a_pool_of_nan_infinity_or_large_numbers_changes_no_bit_of_a_kernels_output(attend, options):
        results = []
        for fill in (0.0, math.nan, math.inf, -math.inf, 1e4):
            batch = Batch([9, 16, 140, 1, 0], 16, kv_heads=2, key_dim=24, value_dim=40, fill=fill)
            results.append(attend(batch, 6, **options))
        for found in results[1:]:
            assert all(torch.equal(a, b) for a, b in zip(found, results[0], strict=True))
        assert bool(torch.isfinite(results[0][0]).all())

    @BOTH
    @pytest.mark.parametrize("group", [1, 3, 6, 7, 12, 16])
    @pytest.mark.filterwarnings("ignore:invalid value")  # NaN is computed with, for the other KV head
    def test_f23_padded_rows_never_alias_the_next_kv_head(attend, group):
        results = []
        for other in (0.0, math.nan):
            batch = Batch([20, 7], 8, kv_heads=2, key_dim=16, value_dim=16)
            batch.key_pool[:, :, 1], batch.value_pool[:, :, 1] = other, other
            results.append([found[:, :group] for found in attend(batch, 2 * group)])
        assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))
        assert bool(torch.isfinite(results[1][0]).all())

    @BOTH
    def test_f24_no_context_gives_zero_and_minus_infinity(attend):
        batch = Batch([0, 5], 4, key_dim=16, value_dim=16)
        batch.lengths[:] = 0
        output, lse = decode(batch, 4) if attend is decode else paged_prefill(
            *batch.queries([3, 1], 4)[:1], *batch.pools, batch.tables, batch.queries([3, 1], 4)[1], batch.lengths,
            return_lse=True,
        )  # fmt: skip
        assert not output.any() and bool((lse == -math.inf).all())

    def test_f24_splits_that_get_no_token_are_not_read():
        batch = Batch([3, 300], 16, key_dim=16, value_dim=16)
        query, start = batch.queries([1, 1], 4)
        found = paged_decode(query, *batch.pools, batch.tables, batch.lengths, num_splits=9)
        close(found, paged_attention(query, *batch.pools, batch.tables, start, batch.lengths))

    def test_f24_merging_two_empties_stays_empty():
        partials, lses = torch.full((2, 3, 8), math.nan, device=DEVICE), torch.full((2, 3), -math.inf, device=DEVICE)
        output, lse = merge(partials, lses)
        assert not output.any() and bool((lse == -math.inf).all())

    def test_f25_slot_minus_one_writes_nothing_and_the_last_slot_is_untouched():
        pools = [torch.full((3, 4, 2, 8), math.nan, device=DEVICE) for _ in range(2)]
        rows = torch.ones(3, 2, 8, device=DEVICE)
        write_kv(rows, rows, *pools, torch.tensor([-1, 5, -1], device=DEVICE))
        for pool in pools:
            assert int((~pool.isnan()).sum()) == 16 and bool((pool[1, 1] == 1).all())

    @BOTH
    def test_f25_stale_padding_entries_of_a_block_table_are_never_read(attend):
        results = []
        for stale in (0, -1, 2**31 - 1):
            batch = Batch([9, 33], 8, key_dim=16, value_dim=16)
            for table, length in zip(batch.tables, batch.lengths.tolist(), strict=True):
                table[-(-length // 8) :] = stale
            results.append(attend(batch, 4))
        for found in results[1:]:
            assert all(torch.equal(a, b) for a, b in zip(found, results[0], strict=True))

    def far_pool(num_blocks: int, block_size: int, heads: int, dim: int) -> torch.Tensor:
        """More than 2**31 numbers. On the CPU only the pages that are touched take memory."""
        shape = (num_blocks, block_size, heads, dim)
        if not INTERPRETED:
            return torch.zeros(shape, dtype=torch.float16, device=DEVICE)
        lazily = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000  # MAP_NORESERVE
        memory = mmap.mmap(-1, 2 * math.prod(shape), flags=lazily)
        return torch.frombuffer(memory, dtype=torch.float16).view(shape)

    def test_f22_blocks_beyond_two_to_the_31_elements_are_written_copied_and_read_in_the_right_place():
        size, heads, dim = 16, 2, 256
        num_blocks = 2**31 // (size * heads * dim) + 40
        pools = [far_pool(num_blocks, size, heads, dim) for _ in range(2)]
        table = [num_blocks - 1, num_blocks - 30, 3]
        draw = torch.Generator().manual_seed(0)
        key, value = (torch.randn(40, heads, dim, generator=draw).half().to(DEVICE) for _ in range(2))
        slots = torch.tensor([table[i // size] * size + i % size for i in range(40)], device=DEVICE)
        write_kv(key, value, *pools, slots)
        query, start = torch.randn(5, 4, dim, generator=draw).half().to(DEVICE), torch.tensor([0, 5], device=DEVICE)
        tables, length = torch.tensor([table], device=DEVICE), torch.tensor([40], device=DEVICE)
        near = [torch.zeros(3, size, heads, dim, dtype=torch.float16, device=DEVICE) for _ in range(2)]
        for pool, rows in zip(near, (key, value), strict=True):
            pool.flatten(0, 1)[:40] = rows
        own = torch.tensor([[0, 1, 2]], device=DEVICE)
        assert torch.equal(
            paged_prefill(query, *pools, tables, start, length), paged_prefill(query, *near, own, start, length)
        )
        found = paged_decode(query[-1:], *pools, tables, length)
        assert torch.equal(found, paged_decode(query[-1:], *near, own, length))
        one = [torch.tensor([block], device=DEVICE) for block in (num_blocks - 1, num_blocks - 2)]
        copy_blocks(pools[0], *one)
        copy_blocks(pools[0], *reversed(one), overlapping=False)
        assert torch.equal(pools[0][num_blocks - 2], near[0][0]) and torch.equal(pools[0][num_blocks - 1], near[0][0])

    if INTERPRETED:

        @BOTH
        def test_f39_a_pool_in_bfloat16_is_refused_in_the_interpreter_with_a_sentence(attend):
            batch = Batch([9], 4, dtype=torch.bfloat16)
            with pytest.raises(ValueError, match="interpreter computes bfloat16 wrongly: use float32 or float16"):
                attend(batch, 4)

        def test_f39_bfloat16_is_written_where_nothing_is_computed_and_refused_where_it_would_be_rounded():
            pools = [torch.zeros(2, 4, 1, 8, dtype=torch.bfloat16) for _ in range(2)]
            rows, slots = torch.randn(2, 1, 8), torch.tensor([0, 5])
            write_kv(rows.bfloat16(), rows.bfloat16(), *pools, slots)
            assert torch.equal(pools[0].flatten(0, 1)[slots], rows.bfloat16())
            with pytest.raises(ValueError, match="interpreter computes bfloat16 wrongly"):
                write_kv(rows, rows, *pools, slots)
