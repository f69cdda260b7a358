"""A launch under guard does what a plain one does, and leaves Triton as it was. F38, F43."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from triton.runtime import interpreter

from kvlab.course.interpreter import KernelFault, Window, guarded, hooks, later, unavailable
from kvlab.errors import UsageError
from tests.course.interpreter import kernels


def state() -> list[Any]:
    """Everything of Triton's that a launch under guard touches."""
    owners = (tl, tl.core, tl.tensor, tl.math, tl.dtype, interpreter, triton.runtime.jit.JITFunction)
    builder = interpreter.interpreter_builder
    held = {name: value for name, value in vars(builder).items() if name not in ("grid_dim", "grid_idx")}
    return [dict(vars(owner)) for owner in owners] + [held]


def copied(kernel: Any = kernels.copy, n: int = 100) -> torch.Tensor:
    source, target = torch.arange(float(n)), torch.zeros(n)
    guarded(kernel, (2,), source, target, n, TILE=64)
    return target


@kernels.interpreted
def test_a_right_kernel_gives_what_a_plain_launch_gives_to_the_bit():
    scores = torch.randn(3, 50, generator=torch.Generator().manual_seed(1))
    plain, ours = torch.zeros(3), torch.zeros(3)
    kernels.online_softmax[(3,)](scores, plain, 50, TILE=16)
    guarded(kernels.online_softmax, (3,), scores, ours, 50, TILE=16)
    assert torch.equal(plain, ours)
    assert torch.allclose(ours, scores.logsumexp(1), atol=1e-5)


def test_the_work_of_a_launch_is_counted():
    rows, lengths = torch.ones(2, 16), torch.tensor([16, 9], dtype=torch.int32)
    work = guarded(kernels.row_sums_masked, (2,), rows, lengths, torch.zeros(2), 16, TILE=16)
    assert work.programs == 2
    assert work.loaded == {"source": 25, "lengths": 2, "target": 0}
    assert work.stored == {"source": 0, "lengths": 0, "target": 2}


def test_pointers_chosen_among_two_tensors_read_each_its_own():
    target = torch.full((9,), 5.0)
    work = guarded(kernels.either, (1,), torch.ones(9), torch.zeros(9), target, 9, TILE=16)
    assert target.tolist() == [1, 0, 1, 0, 1, 0, 1, 0, 1]
    assert work.loaded["one"] == 5 and work.loaded["other"] == 4


def test_a_grid_may_be_a_number_or_a_function_of_the_arguments():
    source, target = torch.ones(100), torch.zeros(100)
    guarded(kernels.copy, lambda meta: (triton.cdiv(meta["n"], meta["TILE"]),), source, target, n=100, TILE=32)
    assert guarded(kernels.copy, 4, source, torch.zeros(100), 100, TILE=32, num_warps=8).programs == 4
    assert target.all()


def test_a_mask_of_zeros_and_ones_is_a_mask():
    target = torch.zeros(3)
    guarded(kernels.masks_of_numbers, (2,), torch.ones(3), target, 3, TILE=16)
    assert target.tolist() == [1] * 3


@pytest.mark.parametrize("grid", [(), (1, 1, 1, 1), (-1,), (1.5,)])
def test_a_grid_that_is_none_is_refused(grid):
    with pytest.raises(UsageError, match="a grid has 1 to 3 numbers"):
        guarded(kernels.copy, grid, torch.ones(4), torch.zeros(4), 4, TILE=4)


def test_arguments_that_are_missing_are_named():
    with pytest.raises(UsageError, match="TILE"):
        guarded(kernels.copy, (1,), torch.ones(4), torch.zeros(4), 4)


def test_numbers_float16_and_empty_tensors_pass():
    target = torch.zeros(4, dtype=torch.float16)
    guarded(kernels.keyword_only_scale, (1,), torch.ones(4, dtype=torch.float16), target, 0.5, 4, TILE=4)
    assert target.tolist() == [0.5] * 4
    guarded(kernels.copy, (1,), torch.zeros(0), torch.zeros(0), 0, TILE=4)


@pytest.mark.parametrize("kernel, error", [(kernels.copy, None), (kernels.load_unmasked, KernelFault),
                                           (kernels.misspelt, NameError), (kernels.interrupted, KeyboardInterrupt),
                                           (kernels.through_a_helper, KernelFault)])
def test_triton_is_left_as_it_was_whatever_happens(kernel, error):
    copied()
    before = state()
    if error is None:
        copied(kernel)
    else:
        with pytest.raises(error):
            copied(kernel)
    for then, now in zip(before, state(), strict=True):
        changed = {name for name in then.keys() | now.keys() if then.get(name) is not now.get(name)}
        assert not changed


@kernels.interpreted
def test_plain_launches_go_on_after_a_fault():
    with pytest.raises(KernelFault):
        copied(kernels.load_unmasked)
    target = torch.zeros(100)
    kernels.copy[(2,)](torch.ones(100), target, 100, TILE=64)
    assert target.all()


def test_what_a_kernel_raises_comes_out_as_it_is_with_its_line():
    with pytest.raises(NameError, match="sauce") as caught:
        copied(kernels.misspelt)
    lines = [entry.name for entry in caught.traceback]
    assert lines[-1] == "misspelt"


def test_a_kernel_declared_for_later_runs_as_a_jit_kernel_does():
    @later.kernel
    def doubled(source, target, n, TILE: later.tl.constexpr):
        i = later.tl.arange(0, TILE)
        later.tl.store(target + i, 2 * later.tl.load(source + i, mask=i < n), mask=i < n)

    target = torch.zeros(4)
    guarded(doubled, (1,), torch.ones(4), target, 4, TILE=4)
    assert target.tolist() == [2] * 4


def test_a_plain_function_is_told_what_is_missing():
    with pytest.raises(UsageError, match="no Triton kernel: put @triton.jit on the line above"):
        guarded(copied, (1,))


def test_autotuning_without_a_gpu_is_told_what_to_do():
    tuned = triton.autotune([triton.Config({"TILE": 32}), triton.Config({"TILE": 64})], key=["n"])(kernels.copy)
    with pytest.raises(UsageError, match="leave it out, and give the sizes in the launch, as in TILE=32"):
        guarded(tuned, (4,), torch.ones(100), torch.zeros(100), 100)


@pytest.mark.parametrize("dotted", hooks.NEEDED)
def test_a_private_hook_that_is_gone_is_one_line_and_the_kernel_runs(dotted, monkeypatch):
    *owners, last = dotted.split(".")
    owner: Any = interpreter
    for name in owners:
        owner = getattr(owner, name)
    if owners[:1] == ["_interpreter"]:
        owner, last = interpreter, "_interpreter"
        stand_in = type("C", (), {name: getattr(interpreter._interpreter, name) for name in ("MEM_SEMANTIC", "RMW_OP")})
        monkeypatch.setattr(owner, last, stand_in)
    else:
        monkeypatch.delattr(type(owner) if owners[:1] == ["interpreter_builder"] else owner, last)
    assert unavailable().startswith("The bounds guard does not fit Triton ") and "\n" not in unavailable()
    assert dotted in unavailable() or dotted.startswith("_interpreter")


@kernels.interpreted
def test_without_a_hook_the_kernel_runs_unguarded_with_one_warning(monkeypatch):
    monkeypatch.setattr(hooks, "NEEDED", (*hooks.NEEDED, "gone_in_the_next_version"))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert copied().tolist() == list(range(100))
    assert len(said) == 1 and "no gone_in_the_next_version" in str(said[0].message)


@pytest.mark.filterwarnings("ignore:The bounds guard does not fit")
def test_without_a_hook_what_needs_the_guard_is_refused(monkeypatch):
    monkeypatch.setattr(hooks, "NEEDED", (*hooks.NEEDED, "gone_in_the_next_version"))
    with pytest.raises(UsageError, match="needs the guard"):
        guarded(kernels.copy, (1,), Window(torch.ones(4), 0), torch.zeros(4), 4, TILE=4)
    with pytest.raises(UsageError, match="bfloat16"):
        guarded(kernels.copy, (1,), torch.ones(4).bfloat16(), torch.zeros(4), 4, TILE=4)


def test_a_kernel_made_for_a_gpu_is_interpreted_all_the_same():
    code = """
import os, sys
os.environ.pop("TRITON_INTERPRET", None)
import torch, triton                                  # before kvlab: cells out of order
from tests.course.interpreter import kernels
assert type(kernels.online_softmax).__name__ == "JITFunction"
from kvlab.course.interpreter import guarded
scores, target = torch.randn(3, 50), torch.zeros(3)
guarded(kernels.online_softmax, (3,), scores, target, 50, TILE=16)
print(torch.allclose(target, scores.logsumexp(1), atol=1e-5))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "True", done.stderr


def test_the_launch_leaves_numpys_warnings_as_they_were():
    before = np.geterr()
    copied()
    assert np.geterr() == before
