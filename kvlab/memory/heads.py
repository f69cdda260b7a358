"""More GPUs than one: which heads each of them has, and what a token then costs on each. Integers only.

The cache is cut by KV heads. Block ids, slots and tables are the same on every rank, so one block table serves all.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from kvlab.errors import UsageError

from .shapes import KVShape


class HeadShard(NamedTuple):
    """What one rank has: its query heads, the KV heads that these read, and how many ranks hold each of the latter.

    Both lists are ids of the whole model, in order and without a gap. replicas: 1, unless there are more ranks than KV
    heads.
    """

    heads: list[int]
    kv_heads: list[int]
    replicas: int


def shard_heads(heads: int, kv_heads: int, ranks: int) -> list[HeadShard]:
    """The heads of every rank, in the order of the ranks. Query head h reads KV head `h // (heads // kv_heads)`.

    Every rank gets as many query heads as the others, and exactly the KV heads that they read. With fewer KV heads than
    ranks, `ranks // kv_heads` ranks hold a copy of each (as in Megatron-LM and vLLM). Counts below 1, query heads that
    do not divide over the KV heads or the ranks, and KV heads and ranks of which neither divides the other, raise
    `UsageError`.
    """
    held, replicas = kv_heads_per_rank(kv_heads, ranks)
    if heads < 1 or heads % kv_heads:
        raise UsageError(f"{heads} query heads cannot share {kv_heads} KV heads evenly")
    if heads % ranks:
        raise UsageError(f"{heads} query heads do not divide over {ranks} ranks: {heads % ranks} would be left over")
    each = heads // ranks
    return [HeadShard(_run(rank * each, each), _run(rank // replicas * held, held), replicas) for rank in range(ranks)]


def kv_heads_per_rank(kv_heads: int, ranks: int) -> tuple[int, int]:
    """How many KV heads each of `ranks` holds, and how many ranks hold each head: one of the two is 1.

    Counts below 1, and counts of which neither divides the other, raise `UsageError`.
    """
    if kv_heads < 1 or ranks < 1:
        raise UsageError(f"there must be at least 1 KV head and 1 rank, not {kv_heads} and {ranks}")
    if kv_heads % ranks and ranks % kv_heads:
        raise UsageError(
            f"{kv_heads} KV heads do not divide over {ranks} ranks: the number of ranks must divide the heads, "
            "or be a multiple of them"
        )
    return max(1, kv_heads // ranks), max(1, ranks // kv_heads)


def rank_shape(shape: KVShape, ranks: int) -> KVShape:
    """What a token leaves on each of `ranks`, every rank the same: `rank_shape(...).bytes_per_token` on each.

    All ranks together hold `ranks` times that, which is more than the whole model's where heads are replicated. Latents
    (MLA) belong to no head, so every rank keeps all of them. Refused with `UsageError` as in `kv_heads_per_rank`.
    """
    if ranks < 1:
        raise UsageError(f"there must be at least 1 rank, not {ranks}")
    held = shape.kv_heads if shape.latent_dim else kv_heads_per_rank(shape.kv_heads, ranks)[0]
    return replace(shape, kv_heads=held, others=tuple(rank_shape(other, ranks) for other in shape.others))


def _run(first: int, count: int) -> list[int]:
    return list(range(first, first + count))
