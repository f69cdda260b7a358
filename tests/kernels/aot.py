"""Compile every kernel ahead of time, for GPUs that need not be there, and say what the compiler made of it.

    python -m tests.kernels.aot            a table
    python -m tests.kernels.aot FILE       and the same as JSON

Run it in a process of its own: kernels that were imported for the interpreter cannot be compiled. The launchers are
called with tensors on torch's "meta" device, which have shapes and no contents, and what they would have launched is
compiled instead: so types, strides, tile sizes and warps are those that a GPU would get.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

os.environ["TRITON_INTERPRET"] = "0"
os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")  # Triton 3.9 warns when nobody says

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.runtime.jit import JITFunction

from kvlab.kernels import checks
from tests.kernels.aot_cases import TYPES, cases

SHARED_LIMIT = {80: 163 * 1024, 90: 227 * 1024, 100: 227 * 1024}  # bytes one program may have, CUDA C guide, table 27
SM_COUNT = {80: 108, 90: 132, 100: 148}


class Launch(NamedTuple):
    """What a launcher would have launched."""

    kernel: JITFunction
    arguments: dict[str, Any]
    options: dict[str, int]


class Result(NamedTuple):
    """What came out, a thread or a program, in bytes but for the registers and the counts.

    spilled: local memory, because registers ran out. wide, narrow: loads from global memory of 16 bytes and of fewer,
    in the PTX. least: the smallest copy from global to shared memory, which is how keys and values come; 0 if there is
    none. tf32: whether a product is rounded to TF32.
    """

    kernel: str
    case: str
    arch: int
    registers: int
    spilled: int
    shared: int
    wide: int
    narrow: int
    least: int
    tf32: bool
    warps: int
    stages: int


@contextmanager
def recording(arch: int) -> Iterator[list[Launch]]:
    """Launches made inside are collected, and do not run."""
    found: list[Launch] = []

    def record(kernel: JITFunction, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> None:
        options = {name: kwargs.pop(name) for name in ("num_warps", "num_stages") if name in kwargs}
        found.append(Launch(kernel, kernel.signature.bind(*args, **kwargs).arguments, options))

    run, gpu = JITFunction.run, checks.gpu
    JITFunction.run, checks.gpu = record, lambda device: checks.GPU(SM_COUNT[arch], arch)
    try:
        yield found
    finally:
        JITFunction.run, checks.gpu = run, gpu


def specialised(launch: Launch) -> ASTSource:
    """The source with types and alignments, as `launch.kernel[grid](...)` would derive them from its arguments."""
    signature: dict[str, str] = {}
    constants: dict[tuple[int], Any] = {}
    attributes: dict[tuple[int], list[list[Any]]] = {}
    for index, parameter in enumerate(launch.kernel.params):
        value = launch.arguments[parameter.name]
        special = not parameter.do_not_specialize
        if parameter.is_constexpr or value is None or (special and type(value) is int and value == 1):
            signature[parameter.name], constants[(index,)] = "constexpr", value
        elif isinstance(value, torch.Tensor):
            signature[parameter.name] = "*" + TYPES[value.dtype]
            if not parameter.do_not_specialize_on_alignment:
                attributes[(index,)] = [["tt.divisibility", 16]]  # torch aligns its allocations to 512 bytes
        elif isinstance(value, float):
            signature[parameter.name] = "fp32"
        else:
            signature[parameter.name] = "i32" if -(2**31) <= value < 2**31 else "i64"
            if special and value % 16 == 0:
                attributes[(index,)] = [["tt.divisibility", 16]]
    return ASTSource(launch.kernel, signature, constants, attributes)


def compiled(launch: Launch, case: str, arch: int) -> Result:
    """Compile one launch for compute capability `arch` (80 is 8.0)."""
    binary = triton.compile(specialised(launch), target=GPUTarget("cuda", arch, 32), options=launch.options)
    registers, spilled = resources(binary.asm["cubin"])
    wide, narrow, least = loads(binary.asm["ptx"])
    options = binary.metadata
    return Result(
        kernel=launch.kernel.__name__.removesuffix("_kernel"),
        case=case,
        arch=arch,
        registers=registers,
        spilled=spilled,
        shared=options.shared,
        wide=wide,
        narrow=narrow,
        least=least,
        tf32=".tf32" in binary.asm["ptx"],
        warps=options.num_warps,
        stages=options.num_stages,
    )


def resources(cubin: bytes) -> tuple[int, int]:
    """Registers a thread, and bytes a thread that lie in local memory because registers ran out."""
    tool = triton.knobs.nvidia.cuobjdump.path
    path = os.path.join(os.environ["TRITON_CACHE_DIR"], "probe.cubin")
    with open(path, "wb") as file:
        file.write(cubin)
    said = subprocess.run([tool, "-res-usage", path], capture_output=True, text=True, check=True).stdout
    registers, stack = (int(number) for number in re.search(r"REG:(\d+) STACK:(\d+)", said).groups())
    local = int(re.search(r"LOCAL:(\d+)", said).group(1))
    return registers, max(stack, local)


def loads(ptx: str) -> tuple[int, int, int]:
    """Loads from global memory of 16 bytes or more, those of less, and the bytes of the smallest copy to shared."""
    copied = [int(size, 16) for size in re.findall(r"cp\.async\.c[ag]\.shared\.global[^;]*?\], (0x[0-9a-f]+)", ptx)]
    loaded = re.findall(r"\bld\.global(?:\.\w+)*?(?:\.v([248]))?\.[bfus](\d+)\b", ptx)
    sizes = copied + [int(vector or 1) * int(bits) // 8 for vector, bits in loaded]
    wide = sum(size >= 16 for size in sizes)
    return wide, len(sizes) - wide, min(copied, default=0)


def results() -> Iterator[Result]:
    """Every kernel, case and architecture."""
    for arch in SHARED_LIMIT:
        for name, call in cases(arch):
            with recording(arch) as launches:
                call()
            for launch in launches:
                if launch.kernel.__name__ != "merge_kernel" or name == "fp16":
                    yield compiled(launch, name, arch)


def main(path: str | None) -> None:
    """Print the table; write it to `path` too."""
    found = []
    print(*(f"{name:>13}" for name in Result._fields))
    for result in results():
        print(*(f"{value:>13}" for value in map(str, result)), flush=True)
        found.append(result._asdict())
    if path:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(found, file)


if __name__ == "__main__":
    os.environ.setdefault("TRITON_CACHE_DIR", os.path.abspath("build/aot"))
    os.makedirs(os.environ["TRITON_CACHE_DIR"], exist_ok=True)
    main(sys.argv[1] if len(sys.argv) > 1 else None)
