"""A kernel that ruins its process ruins the helper's, and the next launch has a helper again. F37."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
import torch

from kvlab import has_gpu
from kvlab.course.interpreter import KernelFault, Window
from kvlab.course.judge import judge
from kvlab.course.ondevice import confirmed
from kvlab.course.parcels import packed, received, sent_back, unpacked
from kvlab.course.portable import portable
from kvlab.course.sandbox import Sandbox
from kvlab.errors import UsageError
from tests.course.cells import Notebook, fits
from tests.course.interpreter import rough
from tests.course.interpreter.masked_copy import MASKED_COPY, masked_copy


@pytest.fixture(scope="module")
def sandbox():
    """A sandbox whose device is the CPU; everything but the device is as on a GPU."""
    opened = Sandbox("cpu", seconds=20.0)
    yield opened
    opened.close()


def launched(sandbox: Sandbox, kernel=rough.doubled) -> torch.Tensor:
    target = torch.zeros(100)
    sandbox.launch(kernel, (2,), torch.arange(100.0), target, 100, 64)
    return target


def test_a_launch_in_the_helper_changes_the_tensors_here(sandbox):
    assert torch.equal(launched(sandbox), 2 * torch.arange(100.0))


def test_the_helper_stays_warm(sandbox):
    launched(sandbox)
    process = sandbox.helper.process.pid
    started = time.process_time()
    for _ in range(3):
        launched(sandbox)
    assert sandbox.helper.process.pid == process != os.getpid()
    assert time.process_time() - started < 2


def test_a_crash_is_a_verdict_and_the_helper_is_replaced(sandbox):
    with pytest.raises(KernelFault, match="the process ended with SIGSEGV") as caught:
        launched(sandbox, rough.crashes)
    assert caught.value.kind == "crash" and "this notebook goes on" in str(caught.value)
    assert torch.equal(launched(sandbox), 2 * torch.arange(100.0))


def test_a_kernel_that_never_ends_is_stopped_and_the_helper_is_replaced(sandbox):
    launched(sandbox)
    hung = sandbox.helper.process
    sandbox.seconds = 0.5
    try:
        with pytest.raises(KernelFault, match="did not end in the helper process within 0.5 s") as caught:
            launched(sandbox, rough.hangs)
    finally:
        sandbox.seconds = 20.0
    assert caught.value.kind == "hang" and hung.poll() == -signal.SIGKILL
    assert torch.equal(launched(sandbox), 2 * torch.arange(100.0))


def test_what_a_kernel_raises_is_told_and_the_helper_stays(sandbox):
    launched(sandbox)
    process = sandbox.helper.process.pid
    with pytest.raises(KernelFault, match="ValueError: arange's range must be a power of 2") as caught:
        launched(sandbox, rough.raises)
    assert caught.value.kind == "device"
    launched(sandbox)
    assert sandbox.helper.process.pid == process


def test_a_kernel_that_does_not_compile_is_told_the_line_and_why(sandbox):
    with pytest.raises(KernelFault) as caught:
        launched(sandbox, rough.does_not_compile)
    assert caught.value.kind == "device"
    assert "it does not compile. Line 2: y = sauce + 1. sauce is not defined" in str(caught.value)


def test_what_a_kernel_prints_is_not_taken_for_an_answer(sandbox):
    assert not launched(sandbox, rough.prints).any()
    assert torch.equal(launched(sandbox), 2 * torch.arange(100.0))


def test_an_interrupt_stops_the_wait_and_not_the_next_launch(sandbox):
    launched(sandbox)
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        launched(sandbox, rough.hangs)
    assert torch.equal(launched(sandbox), 2 * torch.arange(100.0))


def test_a_helper_ends_with_the_process_that_started_it():
    code = """
import os, time
from kvlab.course.sandbox import Helper
helper = Helper("cpu")
print(helper.process.pid, flush=True)
os._exit(0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    pid, until = int(done.stdout), time.monotonic() + 60
    while os.path.exists(f"/proc/{pid}") and open(f"/proc/{pid}/stat").read().split()[2] != "Z":
        assert time.monotonic() < until, "the helper lives on"
        time.sleep(0.1)


def test_a_kernel_of_a_notebook_travels_with_its_helpers_and_constants(sandbox):
    notebook = Notebook()
    notebook.run("import triton\nimport triton.language as tl\nADD = tl.constexpr(5)")
    notebook.run("@triton.jit\ndef plus(x):\n    return x + ADD")
    notebook.run("raised = plus")
    notebook.run("@triton.jit\ndef shifted(source, target, n, TILE: tl.constexpr):\n    i = tl.arange(0, TILE)\n"
                 "    tl.store(target + i, raised(tl.load(source + i, mask=i < n)), mask=i < n)")
    target = torch.zeros(4)
    sandbox.launch(notebook.names["shifted"], (1,), torch.ones(4), target, 4, 4)
    assert target.tolist() == [6] * 4


def test_views_arrive_as_they_lie_in_memory_and_share_it():
    pool = torch.arange(24.0).view(4, 6)
    views = [pool[:, :1], pool[1:, 2:4], pool.t(), torch.zeros(0), 7, pool.half()]
    arrived, held = unpacked(packed(views)[0], "cpu")
    for sent, got in zip(views, arrived, strict=True):
        assert type(got) is type(sent)
        if isinstance(sent, torch.Tensor):
            assert torch.equal(got, sent) and got.stride() == sent.stride() and got.dtype == sent.dtype
    arrived[1][0, 0] = -1
    assert arrived[2][2, 1] == -1 and pool[1, 2] == 8
    received(packed(views)[1], sent_back(held))
    assert pool[1, 2] == -1


def test_the_same_source_is_the_same_kernel():
    assert portable(rough.doubled).digest == portable(rough.doubled).digest != portable(rough.hangs).digest
    names = {}
    exec("import types\nkernel = types.SimpleNamespace(fn=lambda x: x)", names)
    with pytest.raises(UsageError, match="the source of .* is not to be had"):
        portable(names["kernel"])


def test_a_passed_kernel_is_confirmed_on_the_device(sandbox):
    passed = judge(MASKED_COPY, masked_copy)
    assert confirmed(MASKED_COPY, masked_copy, passed, sandbox) is passed


@pytest.mark.parametrize("kernel, said", [(rough.leaves, "crashed in the helper process: the process ended with exit"),
                                          (rough.raises, "arange's range must be a power of 2"),
                                          (rough.prints, "target[0] was never written, expected 1")])
def test_a_kernel_that_fails_only_on_the_device_has_a_verdict(sandbox, kernel, said):
    passed = judge(MASKED_COPY, masked_copy)
    found = confirmed(MASKED_COPY, kernel, passed, sandbox)
    assert found.status == "wrong" and fits(found.text)
    flat = " ".join(found.text.split())
    assert said in flat and "right in the interpreter, but on a GPU not:" in flat


def test_where_no_helper_starts_nobody_is_blamed():
    passed, broken = judge(MASKED_COPY, masked_copy), Sandbox("no such device")
    try:
        found = confirmed(MASKED_COPY, masked_copy, passed, broken)
    finally:
        broken.close()
    assert found.status == "passed" and found.lines[0] == passed.lines[0]
    assert "did not start (exit code 1), so the kernel was tried in the interpreter alone." in " ".join(found.lines[1:])


def test_a_window_is_not_sent_to_the_device(sandbox):
    with pytest.raises(UsageError, match="Window"):
        sandbox.launch(rough.doubled, (1,), Window(torch.ones(4), 8), torch.zeros(4), 4, 4)


if has_gpu():

    @pytest.mark.gpu
    def test_on_a_gpu_a_bad_block_id_leaves_the_notebooks_context_healthy():
        from tests.course.interpreter import kernels

        on_gpu, target = Sandbox("cuda", seconds=60.0), torch.zeros(1, 32)
        try:
            wild = torch.tensor([2**30], dtype=torch.int32)
            with pytest.raises(KernelFault) as caught:
                on_gpu.launch(kernels.gather_wide, (1,), torch.zeros(16, 32), wild, target, 32, 32)
            assert caught.value.kind == "crash"
            assert torch.ones(4, device="cuda").sum().item() == 4
            assert torch.equal(launched(on_gpu), 2 * torch.arange(100.0))
        finally:
            on_gpu.close()

    @pytest.mark.gpu
    def test_on_a_gpu_a_right_kernel_is_confirmed():
        on_gpu = Sandbox("cuda", seconds=60.0)
        try:
            passed = judge(MASKED_COPY, masked_copy)
            assert confirmed(MASKED_COPY, masked_copy, passed, on_gpu) is passed
        finally:
            on_gpu.close()
