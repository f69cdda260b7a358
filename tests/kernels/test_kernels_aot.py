"""What the compiler makes of the kernels for GPUs that need not be here, at the shapes of Llama 3 8B."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.kernels.running import INTERPRETED  # noqa: F401  Triton is there, or this file is not collected

SHARED_LIMIT = {80: 163, 90: 227, 100: 227}  # KB that one program may have (CUDA C++ programming guide)
EVERYWHERE = 99  # KB: the least of any GPU since Ampere
REGISTERS = 65536  # of a multiprocessor


pytestmark = pytest.mark.timeout(600)  # 45 s of one core; the rest is for a machine that is busy otherwise


@pytest.fixture(scope="module")
def results(root, tmp_path_factory) -> list[dict]:
    """One run of `tests.kernels.aot`, in a process that may compile."""
    folder = tmp_path_factory.mktemp("aot")
    environment = os.environ | {"TRITON_CACHE_DIR": str(folder), "TRITON_INTERPRET": "0"}
    environment["PYTHONPATH"] = os.pathsep.join([str(root), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "tests.kernels.aot", str(folder / "results.json")]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=540)
    assert done.returncode == 0, done.stderr[-3000:]
    print(done.stdout)
    return json.loads((folder / "results.json").read_text())


def only(results: list[dict], *kernels: str, **wanted) -> list[dict]:
    found = [one for one in results if one["kernel"] in kernels]
    found = [one for one in found if all(one[name] == value for name, value in wanted.items())]
    assert found
    return found


def test_every_kernel_is_compiled_for_every_architecture_and_the_table_is_shown(results, capsys):
    names = list(results[0])
    with capsys.disabled():
        print("\n" + " ".join(f"{name:>13}" for name in names))
        for one in results:
            print(" ".join(f"{one[name]!s:>13}" for name in names))
    kernels = {"paged_decode", "paged_prefill", "merge", "write_kv", "copy_blocks"}
    assert {(one["kernel"], one["arch"]) for one in results} == {(k, arch) for k in kernels for arch in SHARED_LIMIT}
    cases = {one["case"] for one in results}
    assert {"fp16", "bf16", "bf16 fp8e4nv", "bf16 fp8e5", "fp16 options"} <= cases


def test_no_register_is_spilled_where_16_bits_or_8_are_computed_with(results):
    assert not [one for one in results if one["spilled"] and one["case"] != "fp32"]


def test_shared_memory_is_within_the_limit_and_decode_fits_any_gpu(results):
    assert all(one["shared"] <= SHARED_LIMIT[one["arch"]] * 1024 for one in results)
    assert all(one["shared"] <= EVERYWHERE * 1024 for one in only(results, "paged_decode"))
    assert all(one["shared"] <= EVERYWHERE * 1024 for one in only(results, "paged_prefill", arch=80))


def test_three_decode_programs_share_a_multiprocessor_two_with_float8(results):
    for one in only(results, "paged_decode"):
        at_least = 2 if "fp8" in one["case"] else 3
        assert REGISTERS // (one["registers"] * 32 * one["warps"]) >= at_least, one
        assert at_least * one["shared"] <= {80: 164, 90: 228, 100: 228}[one["arch"]] * 1024 or one["arch"] == 80, one


def test_keys_and_values_are_read_16_bytes_a_thread(results):
    attention = only(results, "paged_decode", "paged_prefill")
    assert all(one["least"] == 16 for one in attention if "fp8" not in one["case"])
    # float8 values are turned on their way to the product, which Triton does 8 at a time
    assert all(one["least"] >= 8 and one["wide"] for one in attention)
    assert all(one["wide"] >= 2 and one["narrow"] <= 3 for one in only(results, "write_kv", "copy_blocks"))


def test_the_block_table_is_read_by_few_loads(results):
    """Each thread loads the pages of its own rows, a turn early: 8 in the loop, some before it, and a few scalars."""
    assert all(one["narrow"] <= 32 for one in only(results, "paged_decode") if "fp8" not in one["case"])


def test_f31_fp32_is_computed_in_fp32_and_nothing_is_rounded_to_tf32(results):
    assert not any(one["tf32"] for one in results)
    only(results, "paged_decode", case="fp32"), only(results, "paged_prefill", case="fp32")
