"""What a token costs when its keys and values are kept in 8 bits, the scales counted."""

from __future__ import annotations

from dataclasses import replace

from kvlab.errors import UsageError

from .shapes import KVShape

SCALE_BYTES = 4
"""A scale is a float32."""


def quantized(shape: KVShape, granularity: str = "tensor") -> KVShape:
    """The same cache with 1 byte a number.

    granularity: "tensor" and "head" scales lie beside the weights and cost a token nothing (see `fixed_scale_bytes`);
    with "token_head" each token has one for its key and one for its value in each KV head and layer. Latents (MLA)
    count as one head. Any other granularity raises `UsageError`.
    """
    _refuse_unknown(granularity)
    own = 2 * SCALE_BYTES if granularity == "token_head" else 0
    others = tuple(quantized(other, granularity) for other in shape.others)
    return replace(shape, bytes_per_number=1, scale_bytes=own, others=others)


def fixed_scale_bytes(shape: KVShape, granularity: str = "tensor") -> int:
    """Bytes of the scales that are there once, however many tokens are cached: none with "token_head"."""
    _refuse_unknown(granularity)
    each = {"tensor": 1, "head": 1 if shape.latent_dim else shape.kv_heads, "token_head": 0}[granularity]
    others = sum(fixed_scale_bytes(other, granularity) for other in shape.others)
    return 2 * each * shape.layers * SCALE_BYTES + others


def _refuse_unknown(granularity: str) -> None:
    if granularity not in ("tensor", "head", "token_head"):
        raise UsageError(f'scales go by tensor, head or token_head, not by "{granularity}"')
