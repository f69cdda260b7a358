"""The benches of lab 05 by themselves: what a verdict says of faults, the work that is counted, a solution that can be
pasted, and labs that need no Triton."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest
import torch

from kvlab.course import notebooks, registry
from kvlab.course.declare import Wrong
from kvlab.course.exercises.lab05_decode_bench import Decode, build, padded
from kvlab.course.exercises.lab05_merge_bench import Merge, made
from kvlab.course.exercises.lab05_slips import Slip
from kvlab.course.interpreter import POISON, Window
from kvlab.course.launches import run
from kvlab.course.source import plain
from tests.exercises.conftest import cell
from tests.exercises.lab05_answers import DECODE, but, cells
from tests.exercises.lab05_moves_answers import WRITE

LAB = registry.of_lab("05")
KERNELS = [entry for entry in LAB if entry.name.endswith("_kernel")]
_DECODE = inspect.getsource(plain(registry.part_of(LAB[1]))).partition("):  # fmt: skip")[0] + "):\n"
_WRITE = "@triton.jit\ndef write_kv_kernel(key, value, key_pool, value_pool, slots, width, TILE: tl.constexpr):\n"


def verdict(notebook, signature, body):
    notebook.run("open_lab('05')")
    return " ".join(notebook.run(cell(cells(signature, body)[0])).split())


def test_f21_a_fault_names_tensor_index_program_and_line(notebook):
    said = verdict(notebook, _WRITE, but(WRITE, (" & (s >= 0)", "")))
    assert "writes key_pool before its start: element -6 = [-1, 0]" in said and "The -1 comes from slots[1]." in said
    assert "Program 1, line " in said and "write_kv_kernel[(3,)]: slots=[5, -1, 2], width=6" in said


def test_f25_reading_the_padding_of_a_table_is_seen_though_it_is_masked():
    tables = padded([[3, 1], [2]])
    assert tables.stride() == (4, 1) and tables.shape == (2, 1)  # behind the last sequence's blocks there is nothing
    assert tables.as_strided((1, 4), (4, 1)).tolist() == [[3, 1, POISON, POISON]]
    slip = next(m.code for m in LAB[1].mistakes if m.code.__name__ == "whole_table_masked")
    with pytest.raises(Wrong, match="block_tables past its end"):
        run(slip, build(Decode((4,))))


def test_f22_pools_that_begin_behind_what_32_bits_can_count():
    pool = build(Decode((6,), far=True)).arguments["key_pool"]
    assert isinstance(pool, Window) and pool.start > 2**31 and pool.tensor.numel() < 1000


def test_f33_right_numbers_from_two_walks_over_the_pages_fail(notebook):
    loop, rest = DECODE.partition("for page in range(pages):\n")[1:]
    twice = but(DECODE, (loop, "for page in range(pages):\n    b = tl.load(block_tables + seq * max_blocks + page)"
                               ".to(tl.int64)\n    w = (b * BLOCK_SIZE + t[:, None]) * KV_HEADS * HEAD_DIM + "
                               "kv * HEAD_DIM + d[None, :]\n    y = page * BLOCK_SIZE + t < n\n    x = tl.load("
                               "key_pool + w, mask=y[:, None], other=0.0)\n"
                               "    z = tl.sum(q[None, :] * x.to(tl.float32), 1)\n"
                               "    m = tl.maximum(m, tl.max(tl.where(y, z * scale, -float('inf')), 0))\n" + loop))
    assert rest and "keys are read 2 times over" in verdict(notebook, _DECODE, twice)


@pytest.mark.parametrize("value", [Merge((3, 4)), Merge((0, 2, 1), (2, 2)), Merge((5, 1), scores="high")])
def test_what_merging_expects_is_a_softmax_over_all_keys(value):
    (outputs, lses), (output, lse) = made(value)
    shares = lses.double().softmax(0)
    whole = (outputs.double().nan_to_num() * shares[..., None]).sum(0)
    assert torch.allclose(whole, output.double(), atol=1e-5)
    assert torch.allclose(lses.double().logsumexp(0), lse.double(), atol=1e-4)


def test_a_slip_whose_place_is_gone_from_the_finished_kernel_is_a_loud_fault():
    slip = Slip("kvlab.kernels.basic_write", "write_kv_kernel", "gone", ("no such text", ""))
    with pytest.raises(LookupError, match="gone: write_kv_kernel has no 'no such text'"):
        assert slip.fn


@pytest.mark.parametrize("entry", KERNELS, ids=lambda entry: entry.name)
def test_a_printed_solution_can_be_pasted_below_the_decorator(entry, notebook):
    source = notebooks.solved_source(entry)
    assert source.startswith("@triton.jit\ndef ")
    notebook.run("import triton\nimport triton.language as tl")
    assert notebook.run("@exercise\n" + source).startswith(f"✓ {entry.name}")


@pytest.mark.parametrize("entry", LAB, ids=lambda entry: entry.name)
def test_advice_is_never_cut(entry):
    assert all(len(piece.next or "") <= 73 for piece in (*entry.checks, *entry.mistakes))


def test_declarations_are_read_without_triton_and_one_sentence_says_what_to_install():
    code = ("import sys, os\nos.environ['KVLAB_PROGRESS'] = 'off'\nsys.modules['triton'] = None\n"
            "from kvlab.course import *\nfrom kvlab.course import registry\nprint(len(registry.of_lab('05')))\n"
            "open_lab('05')")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "6" and "✗ Lab 05 needs Triton" in done.stdout
