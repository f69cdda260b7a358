"""Failures of kernels that people write, and of the machines on which they try: each one ends in a sentence."""

from __future__ import annotations

import math

import pytest
import torch

from kvlab.course.interpreter import KernelFault, explain, guarded, hooks, unavailable
from kvlab.course.sandbox import Sandbox
from kvlab.errors import UsageError
from tests.course.cells import fits
from tests.course.interpreter import kernels, rough
from tests.course.interpreter.test_kernel_exercises import HEAD, notebook  # noqa: F401
from tests.course.interpreter.test_sandbox import launched


def test_f32_a_kernel_without_the_mask_of_the_context_length_fails_and_the_load_is_named():
    pages = torch.ones(2, 16)
    pages[0, 11:] = math.nan  # slots behind the context of 11 tokens
    lengths, sums = torch.tensor([11, 16], dtype=torch.int32), torch.zeros(2)
    with pytest.raises(KernelFault) as caught:
        guarded(kernels.row_sums, (2,), pages, lengths, sums, 16, TILE=16)
    assert caught.value.kind == "uninitialised"
    assert "it read source[0, 11], which was never written. Program 0, line 4: x = tl.load(" in str(caught.value)
    guarded(kernels.row_sums_masked, (2,), pages, lengths, sums, 16, TILE=16)
    assert sums.tolist() == [11, 16]


@pytest.mark.parametrize("kernel, argument, index", [(kernels.load_unmasked, "source", 100),
                                                     (kernels.store_unmasked, "target", 100)])
def test_f36_an_unmasked_access_names_tensor_index_and_program_and_python_lives(kernel, argument, index):
    with pytest.raises(KernelFault) as caught:
        guarded(kernel, (2,), torch.ones(100), torch.zeros(100), 100, TILE=64)
    found = caught.value
    assert (found.argument, found.index, found.program) == (argument, index, (1,))
    assert f"{argument} past its end: element {index}" in str(found) and "Program 1" in str(found)


def test_f36_a_wild_block_id_names_the_table_entry_it_came_from_and_python_lives():
    tables = torch.tensor([3, 987_654_321], dtype=torch.int32)
    with pytest.raises(KernelFault) as caught:
        guarded(kernels.gather, (2,), torch.zeros(16, 32), tables, torch.zeros(2, 32), 32, TILE=32)
    found = caught.value
    assert (found.kind, found.argument, found.program) == ("wild", "pool", (1,))
    assert "The 987,654,321 comes from table[1]." in str(found)


def test_f37_after_a_kernel_that_ruined_its_process_the_next_one_still_works():
    sandbox = Sandbox("cpu")
    try:
        with pytest.raises(KernelFault, match="CUDA error: an illegal memory access was encountered") as caught:
            launched(sandbox, rough.ruins)
        assert caught.value.kind == "crash"
        assert torch.equal(launched(sandbox), 2 * torch.arange(100.0))
    finally:
        sandbox.close()


@kernels.interpreted
def test_f38_autotuning_and_timing_without_a_gpu_say_what_to_do(notebook, monkeypatch):  # noqa: F811
    said = notebook.exercise("@triton.autotune([triton.Config({'TILE': 32})], key=['n'])\n" + HEAD + "    n = n")
    assert fits(said) and "leave it out, and give the sizes in the launch" in " ".join(said.split())
    monkeypatch.setattr(explain, "has_gpu", lambda: False)
    said = notebook.exercise(HEAD + "    triton.testing.do_bench(lambda: None)")
    assert fits(said) and "times are measured on a GPU alone" in " ".join(said.split())


def test_f39_a_pool_in_bfloat16_is_refused_with_what_to_use_instead():
    pool = torch.zeros(4, 8, dtype=torch.bfloat16)
    with pytest.raises(UsageError, match="pool is bfloat16.*use float32 or float16"):
        guarded(kernels.gather, (1,), pool, torch.zeros(1, dtype=torch.int32), torch.zeros(8), 8, TILE=8)


def test_f40_a_kernel_that_never_ends_or_takes_all_memory_is_stopped(notebook):  # noqa: F811
    for body in ("while True:\n        n = n", "kept = []\n    while True:\n        kept.append('x' * 10_000_000)"):
        said = notebook.exercise(HEAD + "    " + body)
        assert said.startswith("✗") and fits(said)
        assert "did not finish within 2 s" in said or "memory" in said


@kernels.interpreted
def test_f43_a_private_hook_that_is_gone_is_one_line_and_kernels_run_on(monkeypatch):
    monkeypatch.delattr(hooks.interpreter(), "_patch_lang")
    assert "no _patch_lang" in unavailable() and "\n" not in unavailable()
    monkeypatch.undo()
    monkeypatch.setattr(hooks, "NEEDED", ("gone_in_the_next_version",))
    target = torch.zeros(100)
    with pytest.warns(RuntimeWarning, match="does not fit Triton"):
        guarded(kernels.copy, (2,), torch.ones(100), target, 100, TILE=64)
    assert target.all()
