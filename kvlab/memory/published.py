"""The lesson's published table: how much of the memory holds tokens, and how many requests fit, under four settings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from kvlab.errors import UsageError

from .example import CONTEXT, KV_TOKENS, MAX_ANSWER
from .lengths import lesson_trace
from .policies import reserve
from .table import round_up_to_block
from .workload import Request, Trace

SETTINGS = ("full", "prompt+max", "16-token blocks", "256-token blocks")
"""The table's rows: two ways to reserve, two block sizes."""


class PublishedRow(NamedTuple):
    """One row of the lesson's table."""

    policy: str
    share_held: float
    """Final lengths, as far as they fit into what is allocated, over allocated slots."""
    fit: int
    """Requests that fit: floor(kv_tokens * requests / allocated slots)."""


class Band(NamedTuple):
    """One row of the table over many seeds: each figure as (mean, 5th percentile, 95th percentile)."""

    policy: str
    share_held: tuple[float, float, float]
    fit: tuple[float, float, float]


def block_size_of(policy: str) -> int | None:
    """16 for "16-token blocks"; None for a policy that reserves."""
    size, found, rest = policy.partition("-token blocks")
    if not found or rest:
        return None
    if not size.isdecimal() or int(size) < 1:
        raise UsageError(f"a block has a whole number of tokens from 1 on: {policy!r}")
    return int(size)


def allocated_slots(policy: str, request: Request, context: int = CONTEXT, max_answer: int = MAX_ANSWER) -> int:
    """Slots that `request` has when it ends, under a policy of `reserve` or under "N-token blocks"."""
    block_size = block_size_of(policy)
    if block_size is None:
        return reserve(policy, request.prompt, request.answer, context, max_answer)
    return round_up_to_block(request.total, block_size)


def published_table(
    trace: Trace,
    kv_tokens: int = KV_TOKENS,
    policies: Iterable[str] = SETTINGS,
    context: int = CONTEXT,
    max_answer: int = MAX_ANSWER,
) -> list[PublishedRow]:
    """One row for each policy, by the counting rule that fits the published figures: all at their final length."""
    if not len(trace):
        raise UsageError("a table needs at least one request")
    rows = []
    for policy in policies:
        slots = [allocated_slots(policy, request, context, max_answer) for request in trace]
        held = sum(min(request.total, allocated) for request, allocated in zip(trace, slots, strict=True))
        rows.append(PublishedRow(policy, held / sum(slots), kv_tokens * len(trace) // sum(slots)))
    return rows


def published_bands(seeds: Iterable[int], kv_tokens: int = KV_TOKENS) -> list[Band]:
    """What to expect of the same length model in general: the table over the lesson's model with each of `seeds`."""
    tables = [published_table(lesson_trace(seed), kv_tokens) for seed in seeds]
    if not tables:
        raise UsageError("a band needs at least one seed")
    return [
        Band(rows[0].policy, _band([row.share_held for row in rows]), _band([row.fit for row in rows]))
        for rows in zip(*tables, strict=True)
    ]


def _band(values: list[float]) -> tuple[float, float, float]:
    low, high = np.percentile(values, [5, 95]).tolist()
    return float(np.mean(values)), low, high
