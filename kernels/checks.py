"""What every launcher refuses, in one sentence each: shapes, types and places that a kernel would read wrongly.

Contents are looked at on the CPU only, where a wild block id would end the process; on a GPU a look would have to wait
for it.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

import torch
import triton
from torch import Tensor

HALF = (torch.float16, torch.bfloat16)
FLOAT8 = {torch.float8_e4m3fn: 448.0, torch.float8_e5m2: 57344.0}  # the largest number that each can hold
MAX_DIM = 256


def require(holds: bool, says: str) -> None:
    """ValueError with what it says, unless it holds."""
    if not holds:
        raise ValueError(says)


def is_interpreted(kernel: object) -> bool:
    """Whether Triton made the kernel for its interpreter, which is settled when triton is first imported."""
    return not isinstance(kernel, triton.runtime.jit.JITFunction)


def check_place(kernel: object, *tensors: Tensor | None, computes: bool = True) -> None:
    """All tensors on one device, a GPU that can run the kernel; or anywhere, in the interpreter, but without bf16.

    computes: False for a kernel that only moves bits. "meta" passes too: nothing runs there, and tests compile from it.
    """
    there = [tensor for tensor in tensors if tensor is not None]
    devices = {str(tensor.device) for tensor in there}
    require(len(devices) == 1, f"the tensors lie on {' and '.join(sorted(devices))}, and a kernel runs on one device")
    device, types = there[0].device, {tensor.dtype for tensor in there}
    if is_interpreted(kernel):
        right = not computes or torch.bfloat16 not in types
        require(right, "Triton's interpreter computes bfloat16 wrongly: use float32 or float16 there")
        return
    says = f"compiled kernels run on an NVIDIA GPU, not on {device}; TRITON_INTERPRET=1, set early, has the interpreter"
    require(device.type in ("cuda", "meta"), says)
    if device.type == "cuda" and computes and torch.float8_e4m3fn in types:
        found = gpu(device).capability
        require(found >= 89, f"float8_e4m3fn needs compute capability 8.9, this GPU has {found // 10}.{found % 10}")


def check_pools(key_pool: Tensor, value_pool: Tensor, most: int = MAX_DIM) -> None:
    """Two pools `[num_blocks, block_size, kv_heads, head_dim]` of one type, rows contiguous, dims up to `most`."""
    shapes = f"{tuple(key_pool.shape)} and {tuple(value_pool.shape)}"
    fits = key_pool.dim() == value_pool.dim() == 4 and key_pool.shape[:3] == value_pool.shape[:3]
    require(fits, f"pools are [num_blocks, block_size, kv_heads, head_dim], alike but for the last: not {shapes}")
    dims = key_pool.shape[3], value_pool.shape[3]
    require(0 < min(dims) <= max(dims) <= most, f"head dims go from 1 to {most}, not {dims[0]} and {dims[1]}")
    require(0 not in key_pool.shape, f"the pools have no room: {shapes}")
    one_type = key_pool.dtype == value_pool.dtype
    require(one_type, f"keys and values have one type, not {key_pool.dtype} and {value_pool.dtype}")
    known = key_pool.dtype in (*HALF, torch.float32, *FLOAT8)
    require(known, f"pools hold float32, float16, bfloat16, float8_e4m3fn or float8_e5m2, not {key_pool.dtype}")
    rows = key_pool.stride(3) == value_pool.stride(3) == 1
    require(rows, "a row of a pool lies in one piece: its last stride is 1")


def check_attention(
    query: Tensor,
    key_pool: Tensor,
    value_pool: Tensor,
    block_tables: Tensor,
    context_lengths: Tensor,
    window: int | None,
    softcap: float | None,
    sinks: Tensor | None,
    counts: Tensor | int = 1,
) -> None:
    """The arguments that both attention kernels have in common. counts: queries of each sequence."""
    check_pools(key_pool, value_pool)
    kv_heads, dim = key_pool.shape[2:]
    fits = query.dim() == 3 and query.shape[2] == dim and query.shape[1] > 0 and query.shape[1] % kv_heads == 0
    says = f"queries are [tokens, a multiple of {kv_heads} heads, {dim}], not {tuple(query.shape)}"
    require(fits, says)
    alike = query.dtype in (*HALF, torch.float32) and key_pool.dtype in (query.dtype, *FLOAT8)
    require(alike, f"pools have the type of the queries or a float8: {query.dtype} does not go with {key_pool.dtype}")
    integers = block_tables.dtype in (torch.int32, torch.int64) and context_lengths.dtype in (torch.int32, torch.int64)
    require(integers, f"tables and lengths are integers, not {block_tables.dtype} and {context_lengths.dtype}")
    shapes = f"{tuple(block_tables.shape)} and {tuple(context_lengths.shape)}"
    fits = block_tables.dim() == 2 and context_lengths.shape == block_tables.shape[:1]
    require(fits, f"tables are [sequences, blocks] and lengths [sequences], not {shapes}")
    dense = context_lengths.stride(0) == 1 and (block_tables.shape[1] < 2 or block_tables.stride(1) == 1)
    require(dense, "a table's row and the lengths lie in one piece")
    require(window is None or window >= 1, f"a window has at least 1 token, the one that looks, not {window}")
    require(softcap is None or softcap > 0, f"a soft cap lies above 0, not at {softcap}; None is for none")
    if sinks is not None:
        fits = sinks.shape == query.shape[1:2] and sinks.is_contiguous()
        require(fits, f"sinks are one number for each of {query.shape[1]} heads, not {tuple(sinks.shape)}")
    if block_tables.device.type == "cpu":
        _check_blocks(block_tables, context_lengths, key_pool, window, counts)


def check_query_start(query_start: Tensor, num_tokens: int, num_seqs: int) -> Tensor | int:
    """`[num_seqs + 1]` integers that cut `num_tokens` rows. Returns how many each has, or 1 where nobody may look."""
    fits = query_start.shape == (num_seqs + 1,) and query_start.dtype in (torch.int32, torch.int64)
    fits = fits and query_start.is_contiguous()
    says = f"query_start is {num_seqs + 1} integers, not {tuple(query_start.shape)} {query_start.dtype}"
    require(fits, says)
    if query_start.device.type != "cpu":
        return 1
    counts = query_start.diff()
    cuts = int(query_start[0]) == 0 and int(query_start[-1]) == num_tokens and bool((counts >= 0).all())
    require(cuts, f"query_start {query_start.tolist()} does not cut {num_tokens} rows into {num_seqs} sequences")
    return counts


def check_slots(slots: Tensor, pool: Tensor) -> None:
    """`[tokens]` int64, below the number of slots."""
    fits = slots.dim() == 1 and slots.dtype is torch.int64 and slots.stride(0) == 1
    require(fits, f"slots are [tokens] int64, not {tuple(slots.shape)} {slots.dtype}")
    capacity = pool.shape[0] * pool.shape[1]
    if slots.device.type == "cpu" and len(slots):
        highest = int(slots.max())
        require(highest < capacity, f"slot {highest} does not exist: the pool has slots 0 to {capacity - 1}")


def check_block_ids(blocks: Tensor, num_blocks: int) -> None:
    """On the CPU: every block exists."""
    if blocks.device.type == "cpu" and blocks.numel():
        low, high = int(blocks.min()), int(blocks.max())
        says = f"block {low if low < 0 else high} does not exist: the pool has blocks 0 to {num_blocks - 1}"
        require(0 <= low <= high < num_blocks, says)


def check_scale(scale: Tensor | float | None, kv_heads: int, pool: Tensor) -> tuple[Tensor | float, int | None]:
    """A float8 scale as a kernel takes it: a number and None, or a tensor and the step from one KV head to the next."""
    if scale is None:
        return 1.0, None
    require(pool.dtype in FLOAT8, f"scales go with float8 pools, not with {pool.dtype}")
    if not isinstance(scale, Tensor):
        require(scale > 0, f"a scale lies above 0, not at {scale}")
        return float(scale), None
    heads = scale.dim() < 2
    require(heads, "the kernels take a scale for all or one a KV head; one for each token and head is PyTorch's to do")
    fits = scale.numel() in (1, kv_heads) and scale.dtype is torch.float32 and scale.is_contiguous()
    says = f"a tensor of scales holds 1 or {kv_heads} float32 in one piece: not {tuple(scale.shape)} {scale.dtype}"
    require(fits, says)
    return scale, int(scale.numel() == kv_heads)


class GPU(NamedTuple):
    """What launches are chosen by: multiprocessors, and the compute capability, 90 for 9.0."""

    sm_count: int
    capability: int


def gpu(device: torch.device) -> GPU:
    """The GPU that a device is; one small one where there is none, so that the interpreter runs few programs."""
    if device.type != "cuda":
        return GPU(1, 80)
    found = torch.cuda.get_device_properties(device)
    return GPU(found.multi_processor_count, 10 * found.major + found.minor)


def current(tensor: Tensor) -> AbstractContextManager[object]:
    """The GPU of `tensor` as the current one, since Triton launches there and nowhere else."""
    return torch.cuda.device(tensor.device) if tensor.is_cuda else nullcontext()


def _check_blocks(tables: Tensor, lengths: Tensor, pool: Tensor, window: int | None, counts: Tensor | int) -> None:
    num_blocks, block_size = pool.shape[:2]
    if not len(lengths):
        return
    room, shortest, longest = tables.shape[1] * block_size, int(lengths.min()), int(lengths.max())
    says = f"lengths from {shortest} to {longest} do not fit tables of {tables.shape[1]} blocks of {block_size}"
    require(0 <= shortest <= longest <= room, says)
    column = torch.arange(tables.shape[1])
    used = column < -(-lengths[:, None] // block_size)
    if window is not None:  # what lies before the first query's window may be released already
        first = (lengths - counts + 1 - window).clamp(min=0)
        used &= column >= first[:, None] // block_size
    check_block_ids(tables[used], num_blocks)
