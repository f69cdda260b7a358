"""Triton kernels with the signatures of lab 05, such as a learner's, in the places of the finished parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from kvlab.errors import UsageError

from .backend import PagedAttention


class Kernels(NamedTuple):
    """Kernels for an engine. None leaves that work to the finished part, and so does every prompt's attention.

    write: for `kvlab.kernels.basic_write.write_kv_kernel`. decode: for `paged_decode_kernel` or `grouped_decode_kernel`
    of `kvlab.kernels.basic_decode`; which of them, its parameters tell.
    """

    write: Any = None
    decode: Any = None


def writer(kernel: Any) -> Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], None]:
    """`write(key_pool, value_pool, key, value, slots)` that launches `kernel`; what it cannot do is `UsageError`."""
    from kvlab.kernels.basic_write import basic_write

    def write(key_pool: Tensor, value_pool: Tensor, key: Tensor, value: Tensor, slots: Tensor) -> None:
        try:
            basic_write(key, value, key_pool, value_pool, slots, kernel=kernel)
        except ValueError as trouble:
            raise UsageError(f"lab 05's write kernel cannot serve this model: {trouble}") from trouble

    return write


def decoder(kernel: Any, others: PagedAttention) -> PagedAttention:
    """Attention that gives sequences with one query to `kernel` and those with more to `others`.

    Windows, soft caps and sinks are refused with `UsageError`, and so are sizes that the kernel cannot do.
    """
    from kvlab.kernels.basic_decode import basic_decode

    def attention(
        query: Tensor, key_pool: Tensor, value_pool: Tensor, block_tables: Tensor, query_start: Tensor,
        context_lengths: Tensor, *, scale: float | None = None, **options: Any,
    ) -> Tensor:  # fmt: skip
        asked = [name for name in ("window", "softcap", "sinks") if options.get(name) is not None]
        if asked:
            raise UsageError(f"lab 05's decode kernels know no {' and no '.join(asked)}, and this model asks for it")
        counts = query_start.diff()
        one = counts == 1
        rows = one.repeat_interleave(counts)
        output = torch.empty_like(query)
        pools = key_pool, value_pool
        try:
            output[rows] = basic_decode(
                query[rows], *pools, block_tables[one], context_lengths[one], scale=scale, kernel=kernel
            )
        except ValueError as trouble:
            raise UsageError(f"lab 05's decode kernel cannot serve this model: {trouble}") from trouble
        if not bool(one.all()):
            start = torch.nn.functional.pad(counts[~one].cumsum(0), (1, 0)).to(query_start.dtype)
            rest = block_tables[~one], start, context_lengths[~one]
            output[~rows] = others(query[~rows], *pools, *rest, scale=scale)
        return output

    return attention
