"""Kernels that ruin their process, as wild accesses ruin a CUDA context: the interpreter runs their Python as it is."""

import ast
import ctypes
import os

import triton
import triton.language as tl
from triton.compiler.errors import CompilationError

STEP = tl.constexpr(2)


@triton.jit
def twice(x):
    return x * STEP


@triton.jit
def doubled(source, target, n, TILE: tl.constexpr):
    i = tl.program_id(0) * TILE + tl.arange(0, TILE)
    tl.store(target + i, twice(tl.load(source + i, mask=i < n)), mask=i < n)


@triton.jit
def crashes(source, target, n, TILE: tl.constexpr):
    ctypes.string_at(8)


@triton.jit
def leaves(source, target, n, TILE: tl.constexpr):
    os._exit(3)


@triton.jit
def hangs(source, target, n, TILE: tl.constexpr):
    while True:
        pass


@triton.jit
def raises(source, target, n, TILE: tl.constexpr):
    tl.arange(0, 60)


@triton.jit
def does_not_compile(source, target, n, TILE: tl.constexpr):
    text = "def kernel(x):\n    y = sauce + 1"
    raise CompilationError(text, ast.parse(text).body[0].body[0].value, "NameError('sauce is not defined')")


@triton.jit
def ruins(source, target, n, TILE: tl.constexpr):
    raise RuntimeError("CUDA error: an illegal memory access was encountered\nsearch for more")


@triton.jit
def prints(source, target, n, TILE: tl.constexpr):
    print("noise" * 1000)
    os.write(1, b"\x00" * 64)
