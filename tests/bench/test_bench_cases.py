"""What a case has to move and to compute, which cases there are, and what an H200 should make of them."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kvlab.bench import LAW, MUST, Case, decode_cases, few, prefill_cases, write_cases
from kvlab.bench.grid import BATCHES, CONTEXTS, all_cases
from kvlab.bench.inputs import Inputs
from kvlab.errors import UsageError

CPU = torch.device("cpu")
# PERFORMANCE.md: microseconds that a decode step may take, 32:8 heads of 128, bf16, by batch and context.
WANTED = {
    1: (13, 16, 29, 79),
    8: (20, 46, 146, 549),
    32: (46, 146, 549, 2159),
    128: (146, 549, 2159, 8602),
}


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "fp8"])
@pytest.mark.parametrize(("batch", "context", "block"), [(1, 16, 16), (3, 37, 8), (2, 64, 256)])
def test_the_bytes_of_a_decode_step_are_those_of_its_contiguous_tensors(dtype, batch, context, block) -> None:
    case = Case("decode", batch, context, 1, block, 6, 2, 8, dtype)
    inputs = Inputs(case, CPU)
    numbers = inputs.keys.numel() + inputs.values.numel()
    assert case.bytes == numbers * inputs.pools[0].element_size()
    assert all(pool.shape == (batch * case.blocks, block, 2, 8) for pool in inputs.pools)


@pytest.mark.parametrize("dtype", ["fp32", "fp8"])
def test_the_bytes_of_a_write_are_those_read_and_those_written(dtype) -> None:
    case = Case("write", 2, 40, 5, 16, 4, 2, 8, dtype)
    inputs = Inputs(case, CPU)
    read = sum(rows.nbytes for rows in inputs.new)
    written = sum(pool.flatten(0, 1)[: len(inputs.slots)].nbytes for pool in inputs.pools)
    assert case.bytes == read + written and len(inputs.slots) == case.tokens == 10


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 3), st.integers(1, 12), st.integers(0, 12))
def test_the_operations_of_a_prefill_count_every_pair_that_the_mask_lets_through(batch, queries, before) -> None:
    case = Case("prefill", batch, queries + before, queries, heads=4, kv_heads=2, head_dim=8)
    pairs = sum(1 for query in range(queries) for key in range(queries + before) if key <= before + query)
    assert case.seen == batch * pairs
    assert case.operations == batch * pairs * 4 * 2 * (8 + 8)  # heads, multiply and add, two products of 8


def test_what_an_h200_must_reach_is_the_table_of_the_performance_page() -> None:
    seconds = {batch: [MUST.seconds(Case("decode", batch, tokens).bytes) for tokens in CONTEXTS] for batch in BATCHES}
    assert {batch: tuple(round(1e6 * one) for one in row) for batch, row in seconds.items()} == WANTED
    assert all(LAW.seconds(size) < MUST.seconds(size) for size in (1, 10**6, 10**12))


def test_a_line_reaches_half_its_rate_where_start_and_reading_take_as_long() -> None:
    half = LAW.start * LAW.rate
    assert LAW.achieved(half) == pytest.approx(LAW.rate / 2)
    assert LAW.words == "10.5 us + bytes / 4.3 TB/s"


@pytest.mark.parametrize(
    "wrong",
    [
        {"batch": 0},
        {"context": 2.5},
        {"kind": "encode"},
        {"dtype": "int4"},
        {"dtype": "fp16", "source_dtype": "bf16"},
        {"source_dtype": "fp8"},
        {"queries": 65},
        {"kv_heads": 5},
        {"kind": "decode", "queries": 2},
    ],
)
def test_a_case_that_cannot_be_is_refused(wrong) -> None:
    sizes = {"kind": "prefill", "batch": 2, "context": 64, "queries": 4}
    Case(**sizes)
    with pytest.raises(UsageError):
        Case(**(sizes | wrong))


def test_the_default_decode_cases_cover_batch_context_block_group_and_type_each_once() -> None:
    cases = decode_cases()
    assert len(set(cases)) == len(cases)
    assert cases[:16] == [Case("decode", batch, context) for batch in BATCHES for context in CONTEXTS]
    assert {case.block_size for case in cases} == {16, 32, 64, 128, 256}
    assert {case.group for case in cases} == {1, 4, 8, 16} and {case.dtype for case in cases} == {"bf16", "fp8"}
    assert all(replace(case, dtype="fp8") in cases for case in cases[:16])
    assert all(replace(case, block_size=64) in cases for case in cases[:16])


def test_named_sizes_give_their_product_and_nothing_else() -> None:
    cases = decode_cases([2, 3], [64], [8, 16], [3], ["fp16"])
    assert [(case.batch, case.block_size) for case in cases] == [(2, 8), (3, 8), (2, 16), (3, 16)]
    assert {(case.heads, case.kv_heads, case.context, case.dtype) for case in cases} == {(30, 10, 64, "fp16")}


def test_everything_is_every_kind_with_the_plain_decode_steps_first() -> None:
    cases = all_cases()
    assert set(cases) == {*decode_cases(), *prefill_cases(), *write_cases()} and len(set(cases)) == len(cases)
    assert cases[:16] == decode_cases()[:16]
    assert any(case.kind == "write" and case.tokens == 5120 for case in cases[16:24])


def test_the_few_cases_of_a_lab_fit_in_two_gib_with_the_buffer_that_empties_the_cache() -> None:
    assert all(case.room + 256 * 2**20 < 2 * 2**30 for case in few())
