"""What `tests.kernels.aot` compiles: each kernel's launcher, called with tensors that have shapes and no contents.

Import it through `aot`, which settles first that kernels are not interpreted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from kvlab.kernels.copy_blocks import copy_blocks
from kvlab.kernels.paged_decode import paged_decode
from kvlab.kernels.paged_prefill import paged_prefill
from kvlab.kernels.write_kv import write_kv

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
