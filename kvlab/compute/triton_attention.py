"""Paged attention by the Triton kernels: decoding sequences by one, everything else by another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from kvlab.errors import UsageError
from kvlab.kernels.paged_decode import paged_decode
from kvlab.kernels.paged_prefill import paged_prefill
from kvlab.memory import blocks_needed

from .plan import AttentionPlan


class _Moved(NamedTuple):
    """Sequences and rows in another order than the batch's, and where each row went; all int64."""

    sequences: Tensor
    rows: Tensor
    back: Tensor


class _Order(NamedTuple):
    """A batch with its decoding sequences, those of one query, last.

    prefills, tokens: the other sequences, and their tokens. starts: their `query_start`. width: blocks that the longest
    decoding sequence needs, if anybody knows. moved: None if the batch has that order already.
    """

    prefills: int
    tokens: int
    starts: Tensor
    width: int | None
    moved: _Moved | None


_ORDERS: WeakKeyDictionary[AttentionPlan, _Order] = WeakKeyDictionary()  # every layer asks for the same


def paged_attention(
    query: Tensor,
    key_pool: Tensor,
    value_pool: Tensor,
    block_tables: Tensor,
    query_start: Tensor,
    context_lengths: Tensor,
    *,
    scale: float | None = None,
    window: int | None = None,
    softcap: float | None = None,
    sinks: Tensor | None = None,
    return_lse: bool = False,
    plan: AttentionPlan | None = None,
    key_scale: Tensor | float | None = None,
    value_scale: Tensor | float | None = None,
) -> Tensor | tuple[Tensor, Tensor]:
    """What `kvlab.compute.paged_attention` computes, with its arguments; and float8 pools, by their scales.

    plan: of this very batch; without one the GPU has to be waited for, to learn which sequences decode. What does not
    fit, or cannot run here, is refused with `UsageError`; block ids are checked on the CPU only.
    """
    order = _order(query_start, context_lengths, key_pool.shape[1], plan)
    if order.moved is not None:
        query = query.index_select(0, order.moved.rows)
        block_tables = block_tables.index_select(0, order.moved.sequences)
        context_lengths = context_lengths.index_select(0, order.moved.sequences)
    options = {"scale": scale, "window": window, "softcap": softcap, "sinks": sinks}
    options |= {"key_scale": key_scale, "value_scale": value_scale, "return_lse": return_lse}
    try:
        found = _parts(order, query, (key_pool, value_pool), block_tables, context_lengths, options)
    except ValueError as error:
        raise UsageError(str(error)) from error
    if not return_lse:
        return _joined(found, order)
    outputs, lses = zip(*found, strict=True)
    return _joined(outputs, order), _joined(lses, order)


def _joined(parts: Sequence[Tensor], order: _Order) -> Tensor:
    """The rows of all parts, in the batch's own order."""
    whole = parts[0] if len(parts) == 1 else torch.cat(list(parts))
    return whole if order.moved is None else whole.index_select(0, order.moved.back)


def _parts(
    order: _Order,
    query: Tensor,
    pools: tuple[Tensor, Tensor],
    tables: Tensor,
    lengths: Tensor,
    options: dict[str, Any],
) -> list[Any]:
    """What the kernels give for the sequences that do not decode, and for those that do: for either, or both."""
    cut, at = order.prefills, order.tokens
    found = []
    if at or not len(query):
        found.append(paged_prefill(query[:at], *pools, tables[:cut], order.starts, lengths[:cut], **options))
    if len(query) > at:
        found.append(paged_decode(query[at:], *pools, tables[cut:, : order.width], lengths[cut:], **options))
    return found


def _order(query_start: Tensor, context_lengths: Tensor, block_size: int, plan: AttentionPlan | None) -> _Order:
    if plan is None:
        counts = np.diff(query_start.cpu().numpy()).astype(np.int64)
        return _sorted(counts, query_start, None)
    if plan not in _ORDERS:
        decoding = plan.contexts[plan.queries == 1]
        width = blocks_needed(int(decoding.max(initial=0)), block_size)
        _ORDERS[plan] = _sorted(plan.queries, query_start, max(1, width))
    return _ORDERS[plan]


def _sorted(counts: np.ndarray, query_start: Tensor, width: int | None) -> _Order:
    decodes = counts == 1
    order = np.argsort(decodes, kind="stable")
    prefills = int(len(counts) - decodes.sum())
    tokens = int(counts[order[:prefills]].sum())
    if bool((order == np.arange(len(order))).all()):
        return _Order(prefills, tokens, query_start[: prefills + 1], width, None)
    begin = np.cumsum(counts) - counts
    rows = np.concatenate([np.arange(begin[i], begin[i] + counts[i]) for i in order])
    starts = np.append(0, np.cumsum(counts[order[:prefills]])).astype(np.int32)
    moved = _Moved(*(torch.from_numpy(array).to(query_start.device) for array in (order, rows, np.argsort(rows))))
    return _Order(prefills, tokens, torch.from_numpy(starts).to(query_start.device), width, moved)
