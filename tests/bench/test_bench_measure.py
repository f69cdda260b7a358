"""The way from a case to a measurement, on a CPU: the code that runs on a GPU, with another clock."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest
import torch

from kvlab.bench import Case, measure
from kvlab.bench.inputs import KEY_SCALE, VALUE_SCALE, Inputs
from kvlab.bench.record import COPY, GATHER, SDPA
from kvlab.bench.session import EVERYTHING, FAILED
from kvlab.bench.spread import CpuClock
from kvlab.bench.systems import Prepared, copy, gather, index_copy, sdpa
from kvlab.compute import paged_attention
from kvlab.errors import KVLabError

ATTENTION = {SDPA: sdpa, GATHER: gather, COPY: copy}
TORCH = {"decode": ATTENTION, "prefill": ATTENTION, "write": {GATHER: index_copy, COPY: copy}}
DECODE = Case("decode", 3, 37, 1, 16, 8, 2, 32, "fp32")
PREFILL = Case("prefill", 2, 37, 5, 16, 8, 2, 32, "fp32")
WRITE = Case("write", 2, 37, 5, 16, 8, 2, 32, "fp32")
CPU = torch.device("cpu")


def here(*cases: Case, **options):
    """`measure` on this CPU, with the systems that torch has alone."""
    return measure(cases, **({"device": "cpu", "clock": CpuClock(), "systems": TORCH, "each": 0.001} | options))


@pytest.fixture(scope="module")
def run():
    return here(DECODE, PREFILL, WRITE)


def test_every_system_is_timed_on_every_case_it_can_do(run) -> None:
    assert [(found.case, found.system) for found in run.measurements] == [
        *((case, system) for case in (DECODE, PREFILL) for system in ATTENTION),
        (WRITE, GATHER),
        (WRITE, COPY),
    ]
    assert not run.left_out and all(found.spread.repeats >= 3 for found in run.measurements)


def test_the_systems_agree_on_what_comes_out(run) -> None:
    compared = [found for found in run.measurements if found.system == GATHER]
    assert len(compared) == 3 and all(found.difference < 1e-5 for found in compared)
    assert run.find(WRITE, GATHER).difference == 0.0 and run.find(WRITE, COPY).difference is None


def test_a_run_names_this_machine_and_its_versions(run) -> None:
    assert "CPU" in run.device["name"] and run.device["gpu"] is False
    assert run.versions["torch"] == torch.__version__ and run.settings["clock"] == "CpuClock"


def test_the_copy_moves_as_many_bytes_as_the_case_has(run) -> None:
    assert all(run.find(case, COPY).bytes == case.bytes for case in (DECODE, PREFILL, WRITE))


def test_somebody_elses_attention_is_measured_beside_and_a_wrong_one_told() -> None:
    def forgets_the_last_token(query, keys, values, tables, starts, lengths, **options):
        return paged_attention(query, keys, values, tables, starts, lengths - 1)

    run = here(DECODE, attention={"theirs": paged_attention, "yours": forgets_the_last_token})
    assert run.find(DECODE, "theirs").difference < 1e-5 and run.find(DECODE, "yours").difference > 0.02


def test_a_system_that_breaks_costs_a_line_and_not_the_run() -> None:
    def breaks(inputs: Inputs) -> Prepared:
        raise RuntimeError("no such kernel\nand much more")

    run = here(DECODE, systems={"decode": {"broken": breaks, COPY: copy}})
    assert [found.system for found in run.measurements] == [COPY]
    assert run.left_out[0].why == f"{FAILED}: RuntimeError: no such kernel"


def test_what_does_not_fit_in_memory_or_time_is_left_out_with_the_reason() -> None:
    large = replace(DECODE, context=10**9)
    run = here(large, DECODE, memory=2**30)
    (left,) = run.left_out
    assert (left.case, left.system) == (large, EVERYTHING) and "GiB" in left.why and "1.0 may be used" in left.why
    late = here(DECODE, seconds=0)
    assert not late.measurements and "0 seconds were over" in late.left_out[0].why


def test_a_case_whose_tensors_cannot_be_made_is_left_out_too() -> None:
    run = here(replace(DECODE, context=2**50), DECODE)
    assert run.left_out[0].system == EVERYTHING and run.left_out[0].why.startswith(FAILED)
    assert run.find(DECODE, SDPA)


def test_progress_is_told_case_by_case() -> None:
    said: list[str] = []
    here(DECODE, WRITE, tell=said.append)
    assert said == [f"1 of 2: {DECODE.name}", f"2 of 2: {WRITE.name}"]


def test_without_a_gpu_there_is_a_sentence_and_nothing_is_measured(monkeypatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with pytest.raises(KVLabError, match="cannot measure how fast the kernels are: that takes an NVIDIA GPU"):
        measure([DECODE])


# -- the tensors


@pytest.mark.parametrize("case", [DECODE, PREFILL, replace(DECODE, dtype="fp8"), replace(DECODE, block_size=64)])
def test_the_pages_hold_what_lies_in_one_piece(case) -> None:
    inputs = Inputs(case, CPU)
    scales = (KEY_SCALE, VALUE_SCALE) if case.dtype == "fp8" else (1.0, 1.0)
    for pool, rows, scale in zip(inputs.pools, (inputs.keys, inputs.values), scales, strict=True):
        for sequence, table in enumerate(inputs.tables.tolist()):
            pages = torch.cat([pool[block].float() for block in table])[: case.context]
            assert torch.equal(pages * scale, rows[sequence].float())


def test_every_block_belongs_to_one_sequence_and_they_are_shuffled() -> None:
    tables = Inputs(replace(DECODE, context=640), CPU).tables
    assert sorted(tables.flatten().tolist()) == list(range(tables.numel()))
    assert tables.flatten().tolist() != list(range(tables.numel()))


def test_new_tokens_go_to_the_last_slots_of_their_sequences() -> None:
    inputs = Inputs(WRITE, CPU)
    tables, found = inputs.tables.tolist(), inputs.slots.tolist()
    assert found == [tables[seq][at // 16] * 16 + at % 16 for seq in range(2) for at in range(32, 37)]


def test_the_same_seed_gives_the_same_case() -> None:
    first, second = Inputs(DECODE, CPU), Inputs(DECODE, CPU)
    assert torch.equal(first.pools[0], second.pools[0]) and torch.equal(first.tables, second.tables)


def test_importing_it_and_reading_what_is_stored_loads_no_torch() -> None:
    code = "import sys, kvlab.bench as b; b.stored(); b.few(); b.why_not(); print('torch' in sys.modules)"
    environment = {"CUDA_VISIBLE_DEVICES": "", "PATH": "", "PYTHONPATH": ":".join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout == "False\n"
