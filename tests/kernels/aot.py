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
from collections.abc import Callable, Iterator
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
from kvlab.kernels.copy_blocks import copy_blocks
from kvlab.kernels.paged_decode import paged_decode
from kvlab.kernels.paged_prefill import paged_prefill
from kvlab.kernels.write_kv import write_kv

SHARED_LIMIT = {80: 163 * 1024, 90: 227 * 1024, 100: 227 * 1024}  # bytes one program may have, CUDA C guide, table 27
SM_COUNT = {80: 108, 90: 132, 100: 148}
SUPPORTS_E4M3 = {90, 100}
TYPES = {
    torch.float16: "fp16",
    torch.bfloat16: "bf16",
    torch.float32: "fp32",
    torch.float8_e4m3fn: "fp8e4nv",
    torch.float8_e5m2: "fp8e5",
    torch.int32: "i32",
    torch.int64: "i64",
}
HEADS, KV_HEADS, DIM, PAGE = 32, 8, 128, 16  # Llama 3 8B


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


def meta(*shape: int, dtype: torch.dtype = torch.int32) -> torch.Tensor:
    """A tensor that has a shape and no contents."""
    return torch.empty(shape, dtype=dtype, device="meta")


def decode(dtype: torch.dtype, pool: torch.dtype, seqs: int = 32, context: int = 4096, **options: Any) -> None:
    """A decode step."""
    pools = [meta(1024, PAGE, KV_HEADS, DIM, dtype=pool) for _ in range(2)]
    query = meta(seqs, HEADS, DIM, dtype=dtype)
    paged_decode(query, *pools, meta(seqs, context // PAGE), meta(seqs), **options)


def prefill(dtype: torch.dtype, pool: torch.dtype, tokens: int = 2048, **options: Any) -> None:
    """A chunk of prefill."""
    pools = [meta(1024, PAGE, KV_HEADS, DIM, dtype=pool) for _ in range(2)]
    query = meta(tokens, HEADS, DIM, dtype=dtype)
    paged_prefill(query, *pools, meta(4, 256), meta(5), meta(4), **options)


def write(dtype: torch.dtype, pool: torch.dtype, **options: Any) -> None:
    """Keys and values of 512 tokens to their slots."""
    pools = [meta(1024, PAGE, KV_HEADS, DIM, dtype=pool) for _ in range(2)]
    rows = [meta(512, KV_HEADS, DIM, dtype=dtype) for _ in range(2)]
    write_kv(*rows, *pools, meta(512, dtype=torch.int64), **options)


def copy(dtype: torch.dtype, pool: torch.dtype) -> None:
    """Eight blocks copied."""
    pairs = [meta(8, dtype=torch.int64) for _ in range(2)]
    copy_blocks(meta(1024, PAGE, KV_HEADS, DIM, dtype=pool), *pairs, overlapping=False)


def cases(arch: int) -> Iterator[tuple[str, Callable[[], None]]]:
    """What is compiled: a name and a call."""
    calls = {"decode": decode, "prefill": prefill, "write": write, "copy": copy}
    for dtype in (torch.float16, torch.bfloat16):
        for call in calls.values():
            yield TYPES[dtype], lambda call=call, dtype=dtype: call(dtype, dtype)
    float8 = torch.float8_e4m3fn if arch in SUPPORTS_E4M3 else torch.float8_e5m2
    name = f"bf16 {TYPES[float8]}"
    scales = {"key_scale": 0.5, "value_scale": 0.25}
    for call in (decode, prefill, write):
        if call is not write or arch in SUPPORTS_E4M3:
            yield name, lambda call=call: call(torch.bfloat16, float8, **scales)
    sinks = meta(HEADS, dtype=torch.float32)
    every = {"window": 1024, "softcap": 30.0, "sinks": sinks}
    yield "fp16 options", lambda: decode(torch.float16, torch.float16, num_splits=1, **every)
    yield "fp16 options", lambda: prefill(torch.float16, torch.float16, **every)
    if arch != 100:
        for call in (decode, prefill):
            yield "fp32", lambda call=call: call(torch.float32, torch.float32)


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
