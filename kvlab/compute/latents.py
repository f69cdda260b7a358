"""Multi-head latent attention on pages: a token leaves one latent and one rotary key, whatever the number of heads.

Keys and values of all heads are projected from the latent (DeepSeek-V2, arXiv 2405.04434, section 2.1). They can be
made after the gather, which is what a model's own code does, or not at all: the projections can be moved to the query
and to the output instead, since (q K) c = q (K c), which is called absorbing them.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from kvlab.errors import UsageError

from .float8 import is_float8
from .pools import blocks_of, gather_kv, write_kv


def page_latents(
    query: Tensor,
    latent: Tensor,
    rotary: Tensor,
    pool: Tensor,
    slots: Tensor,
    table: Sequence[int],
    length: int,
    key_up: Tensor,
    value_up: Tensor,
    scale: float | None = None,
) -> Tensor:
    """One step of one sequence: write the new tokens' latents and rotary keys, and attend over all `length` tokens.

    query: `[new, heads, key_dim + rope_dim]`, of the last `new` of the `length` tokens. latent: `[new, latent_dim]`,
    rotary: `[new, rope_dim]`, one for all heads. pool: `[num_blocks, block_size, 1, latent_dim + rope_dim]`, one head,
    the latent first. slots: `[new]` int64. table: the sequence's blocks, enough for `length` tokens. key_up: `[heads,
    key_dim, latent_dim]`, value_up: `[heads, value_dim, latent_dim]`. scale: default `(key_dim + rope_dim) ** -0.5`.

    Returns `[new, heads, value_dim]`. What lies in slots beyond `length` changes nothing (I6). Shapes that do not fit,
    and blocks or slots that are not there: `UsageError`, before anything is written.
    """
    _refuse_shapes(query, latent, rotary, pool, key_up, value_up)
    _refuse_float8(pool)
    if len(query) > length:
        raise UsageError(f"{len(query)} new tokens cannot be the last of {length}")
    blocks_of(pool, table, length)  # refuses a wrong table before anything is written
    write_latents(pool, latent, rotary, slots)
    return attend_latents(query, pool, table, length, key_up, value_up, scale)


def write_latents(pool: Tensor, latent: Tensor, rotary: Tensor, slots: Tensor) -> None:
    """Write `[new, latent_dim]` latents and `[new, rope_dim]` rotary keys side by side into their slots (-1: nowhere).

    pool: `[num_blocks, block_size, 1, latent_dim + rope_dim]`. It refuses what `write_kv` does.
    """
    kept = latent.shape[-1]
    write_kv(pool[..., :kept], pool[..., kept:], latent.unsqueeze(1), rotary.unsqueeze(1), slots)


def attend_latents(
    query: Tensor,
    pool: Tensor,
    table: Sequence[int],
    length: int,
    key_up: Tensor,
    value_up: Tensor,
    scale: float | None = None,
) -> Tensor:
    """Attend by expanding after the gather: each latent becomes a key and a value for every head. See `page_latents`.

    It makes `heads * (key_dim + value_dim)` numbers for each token of the context, in every step.
    """
    latent, rotary = _gathered(pool, table, length, key_up)
    key = torch.einsum("hkc,tc->thk", key_up, latent)
    key = torch.cat([key, rotary.unsqueeze(1).expand(-1, len(key_up), -1)], -1)
    value = torch.einsum("hvc,tc->thv", value_up, latent)
    weights = _weights(torch.einsum("nhd,thd->hnt", query, key), query.shape[-1], scale)
    return torch.einsum("hnt,thv->nhv", weights, value)


def attend_absorbed(
    query: Tensor,
    pool: Tensor,
    table: Sequence[int],
    length: int,
    key_up: Tensor,
    value_up: Tensor,
    scale: float | None = None,
) -> Tensor:
    """The same result without a key or a value: queries are projected down to the latent, weighted latents up again.

    It is attention with one KV head of `latent_dim + rope_dim` numbers, which all query heads share: what a kernel runs
    when it decodes. See `page_latents`.
    """
    latent, rotary = _gathered(pool, table, length, key_up)
    plain, turned = query.split([key_up.shape[1], rotary.shape[-1]], -1)
    down = torch.cat([torch.einsum("nhk,hkc->nhc", plain, key_up), turned], -1)
    scores = torch.einsum("nhc,tc->hnt", down, torch.cat([latent, rotary], -1))
    mixed = torch.einsum("hnt,tc->nhc", _weights(scores, query.shape[-1], scale), latent)
    return torch.einsum("nhc,hvc->nhv", mixed, value_up)


def _gathered(pool: Tensor, table: Sequence[int], length: int, key_up: Tensor) -> tuple[Tensor, Tensor]:
    """Latents `[length, latent_dim]` and rotary keys `[length, rope_dim]` of a sequence."""
    _refuse_float8(pool)
    rows = gather_kv(pool, table, length)[:, 0]
    return rows[:, : key_up.shape[2]], rows[:, key_up.shape[2] :]


def _refuse_float8(pool: Tensor) -> None:
    if is_float8(pool):
        raise UsageError('latents are attended as they lie here, not in 8 bits; PagedModel(kv_dtype="fp8") scales them')


def _weights(scores: Tensor, dim: int, scale: float | None) -> Tensor:
    """Causal softmax of `[heads, new, length]` scores, whose queries are the context's last ones. Sums are fp32."""
    new, length = scores.shape[1:]
    later = torch.ones(new, length, dtype=torch.bool, device=scores.device).triu(length - new + 1)
    scaled = scores.float() * (dim**-0.5 if scale is None else scale)
    return scaled.masked_fill(later, float("-inf")).softmax(-1).to(scores.dtype)


def _refuse_shapes(
    query: Tensor, latent: Tensor, rotary: Tensor, pool: Tensor, key_up: Tensor, value_up: Tensor
) -> None:
    shapes = [tuple(one.shape) for one in (query, latent, rotary, pool, key_up, value_up)]
    dims = [len(shape) for shape in shapes]
    if dims != [3, 2, 2, 4, 3, 3]:
        raise UsageError(
            f"query, latent, rotary, pool, key_up and value_up have 3, 2, 2, 4, 3, 3 dimensions, not {dims}"
        )
    new, heads, dim = shapes[0]
    kept, rope = latent.shape[1], rotary.shape[1]
    if (
        not new == len(latent) == len(rotary)
        or pool.shape[2:] != (1, kept + rope)
        or key_up.shape != (heads, dim - rope, kept)
        or (value_up.shape[0], value_up.shape[2]) != (heads, kept)
    ):
        raise UsageError(f"query, latent, rotary, pool, key_up and value_up do not fit each other: {shapes}")
