"""Without a GPU, what asks for one is answered with what to do. F38."""

from __future__ import annotations

import os
import sys

import pytest

from kvlab.course.interpreter import explain
from tests.course.interpreter import kernels
from tests.course.kernels import kernel

ORDER = "Restart the kernel and run the lab from its first cell."


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(explain, "has_gpu", lambda: False)


@kernels.interpreted
@pytest.mark.parametrize("error, said", [
    (RuntimeError("0 active drivers ([]). There should only be one."), "times are measured on a GPU alone"),
    (RuntimeError("Cannot call @triton.jit'd outside of the scope of a kernel"), "kernel[(programs,)]"),
    (RuntimeError("something else"), ""), (ZeroDivisionError("division by zero"), "")])
def test_an_error_of_tritons_is_explained(no_gpu, error, said):
    assert said in explain.explained(error) and bool(said) == bool(explain.explained(error))


def test_outside_a_notebook_nothing_is_hooked():
    explain.explain_in_notebook()
    assert "IPython" not in sys.modules or sys.modules["IPython"].get_ipython() is None


def test_a_notebook_run_out_of_order_says_what_to_do_and_goes_on(tmp_path):
    write = "with open('copies.py', 'w') as f: f.write('''{}''')"
    kernel_file = ("import triton, triton.language as tl\n@triton.jit\ndef ones(target, n, TILE: tl.constexpr):\n"
                   "    i = tl.arange(0, TILE)\n    tl.store(target + i, 1.0, mask=i < n)\n")
    environment = {"KVLAB_PROGRESS": "off", "CUDA_VISIBLE_DEVICES": "", "TRITON_INTERPRET": "0",
                   "TRITON_DEFAULT_FP_FUSION": os.environ.get("TRITON_DEFAULT_FP_FUSION", "1")}
    with kernel(tmp_path, **environment) as running:
        running.run(write.format(kernel_file))
        assert ORDER in running.run("import torch, copies\nopen_lab('04')")
        with pytest.raises(RuntimeError):
            running.run("copies.ones[(1,)](torch.zeros(4), 4, TILE=4)")
        shown = running.run("from IPython import get_ipython\n"
                            "done = get_ipython().run_cell('copies.ones[(1,)](torch.zeros(4), 4, TILE=4)')\n"
                            "print(type(done.error_in_exec).__name__)")
        assert ORDER in " ".join(shown.split()) and shown.endswith("RuntimeError")
        assert running.run("print(1 + 1)") == "2"
