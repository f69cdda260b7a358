"""Numbers of 8 bits in torch: which types there are, and what torch does slowly or not at all with them on the CPU.

e4m3 has a sign, 4 bits of exponent and 3 of mantissa: 448 at most, no infinity, two codes for NaN. e5m2 has the
exponent of float16, 57,344 at most, and 2 bits of mantissa. Source: Micikevicius et al. 2022 (arXiv 2209.05433),
table 1.
"""

from __future__ import annotations

import torch
from torch import Tensor

from kvlab.errors import UsageError

LARGEST = {torch.float8_e4m3fn: 448.0, torch.float8_e5m2: 57344.0}
"""The float8 types that pools may have, and the largest number of each."""

KV_DTYPES = {"auto": None, "fp8": torch.float8_e4m3fn, "fp8_e5m2": torch.float8_e5m2}
"""What `kv_dtype=` may be, and the type of the pools: None is the type of what is written to them."""


def pool_dtype(kv_dtype: str) -> torch.dtype | None:
    """The type that `kv_dtype` names. An unknown name raises `UsageError`."""
    if kv_dtype not in KV_DTYPES:
        raise UsageError(f'keys and values can be kept as {", ".join(KV_DTYPES)}, not as "{kv_dtype}"')
    return KV_DTYPES[kv_dtype]


def is_float8(tensor: Tensor) -> bool:
    """Whether its numbers are float8, of either kind."""
    return tensor.dtype in LARGEST


def as_bytes(tensor: Tensor) -> Tensor:
    """The same memory seen as bytes if it is float8, else `tensor`: on the CPU torch has `index_copy_` and
    `index_fill_` for bytes, and not for float8. A byte of 0 is the number 0."""
    return tensor.view(torch.uint8) if is_float8(tensor) else tensor


def widen(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    """The numbers of a float8 tensor as `dtype` (float32, float16 or bfloat16), all of them exact, scales left out.

    On the CPU torch converts one number at a time. Shifted into a float16's place, the bits of e5m2 are the same number
    and those of e4m3 are it over 256, NaN apart, and that takes about a tenth of the time.
    """
    if tensor.device.type != "cpu":
        return tensor.to(dtype)
    bits = tensor.view(torch.int8)
    if tensor.dtype is torch.float8_e5m2:
        return (bits.to(torch.int16) << 8).view(torch.float16).to(dtype)
    if not bits.numel() or int(bits.max()) == 127 or int(bits.view(torch.uint8).max()) == 255:
        return tensor.to(dtype)  # its codes for NaN would come out as 480
    shifted = bits.to(torch.int16).mul_(128).bitwise_and_(~0x4000)  # the sign was copied to bit 14 too
    return shifted.view(torch.float16).mul_(256).to(dtype)
