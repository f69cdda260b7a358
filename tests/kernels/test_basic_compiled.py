"""Lab 05's kernels, the finished ones and those of its solved cells, compile for GPUs that need not be here."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from kvlab.course import notebooks, registry
from tests.kernels.running import INTERPRETED  # noqa: F401  Triton is there, or this file is not collected

KERNELS = [entry for entry in registry.of_lab("05") if entry.name.endswith("_kernel")]
FINISHED = "\n".join(f"from {entry.part.rpartition('.')[0]} import {entry.name}" for entry in KERNELS)
SOLVED = "\n\n".join(["import triton\nimport triton.language as tl", *map(notebooks.solved_source, KERNELS)])
COMPILES = """
import sys
import kernels_of_lab_05 as lab
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

POOLS = {name: "*fp16" for name in ("key", "value", "key_pool", "value_pool", "output", "query", "pool")}
OTHERS = {"slots": "*i64", "block_tables": "*i32", "context_lengths": "*i32", "sources": "*i32", "targets": "*i32",
          "scale": "fp32", "width": "i32", "max_blocks": "i32", "block_numel": "i32"}
SIZES = {"TILE": 1024, "HEADS": 32, "KV_HEADS": 8, "HEAD_DIM": 128, "BLOCK_SIZE": 16, "GROUP_TILE": 16}
for arch in map(int, sys.argv[1:]):
    for name in ("write_kv_kernel", "copy_blocks_kernel", "paged_decode_kernel", "grouped_decode_kernel"):
        kernel = getattr(lab, name)
        types = {one: "constexpr" if one in SIZES else (POOLS | OTHERS)[one] for one in kernel.arg_names}
        source = ASTSource(kernel, types, {one: SIZES[one] for one in kernel.arg_names if one in SIZES})
        made = triton.compile(source, target=GPUTarget("cuda", arch, 32))
        print(name, arch, len(made.asm["cubin"]) > 0, made.metadata.shared < 99 * 1024)
"""

pytestmark = pytest.mark.timeout(300)


@pytest.mark.parametrize(("source", "archs"), [(FINISHED, (80, 90, 100)), (SOLVED, (90,))], ids=["finished", "solved"])
def test_the_kernels_of_the_lab_compile(source, archs, root, tmp_path):
    (tmp_path / "kernels_of_lab_05.py").write_text(source)
    environment = os.environ | {"TRITON_INTERPRET": "0", "TRITON_CACHE_DIR": str(tmp_path / "cache"),
                                "TRITON_DEFAULT_FP_FUSION": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path), str(root), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-c", COMPILES, *map(str, archs)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr[-3000:]
    lines = done.stdout.splitlines()
    assert len(lines) == 4 * len(archs) and all(line.endswith("True True") for line in lines), done.stdout
