"""Traces on virtual memory: how much of it holds tokens, how many requests fit, beside blocks and over time."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import NamedTuple

from kvlab.errors import KVLabError, UsageError

from .addresses import address_ranges, pages_needed
from .example import CONTEXT, KV_TOKENS, LLAMA_3_8B
from .ondemand import OnDemand, Replay, replay_on_demand
from .published import PublishedRow
from .shapes import KVShape
from .virtual import VirtualCache
from .waste import Waste
from .workload import Trace

KIB, MIB = 1 << 10, 1 << 20


class Pages(NamedTuple):
    """How big a page is, and whether one holds all layers of its tokens (`sliced`) or one layer of more tokens."""

    page_bytes: int
    sliced: bool = False

    @property
    def name(self) -> str:
        """As a row of a table says it: "64 KiB pages", "2 MiB pages, sliced"."""
        size = f"{self.page_bytes // MIB} MiB" if self.page_bytes % MIB == 0 else f"{self.page_bytes / KIB:g} KiB"
        return f"{size} pages" + ", sliced" * self.sliced


PAGES = (Pages(2 * MIB), Pages(256 * KIB), Pages(128 * KIB), Pages(64 * KIB), Pages(2 * MIB, sliced=True))
"""The page sizes that vAttention takes (arXiv 2405.04437, and the README of its code). CUDA gives 2 MiB; for the others
its authors changed the driver. Slices bring a page of 2 MiB to as few tokens without that."""


def virtual_table(
    trace: Trace, pages: Iterable[Pages] = PAGES, shape: KVShape = LLAMA_3_8B, kv_tokens: int = KV_TOKENS
) -> list[PublishedRow]:
    """`published_table` for pages: each request alone grows to its final length, and what it then has is counted.

    The rows are of the same kind, so both tables can be shown as one. share_held: bytes of tokens over bytes of mapped
    pages. fit: requests for which memory of `kv_tokens` tokens is enough, floor(kv_tokens * requests / tokens' worth
    of mapped pages).
    """
    if not len(trace):
        raise UsageError("a table needs at least one request")
    longest, rows = max(request.total for request in trace), []
    for one in pages:
        ranges = address_ranges(shape, one.sliced)
        cache = VirtualCache(sum(pages_needed(longest, ranges, one.page_bytes)), one.page_bytes, ranges)
        mapped = 0
        for number, request in enumerate(trace):
            cache.reserve(number, request.total)
            mapped += cache.grow(number, request.total) * one.page_bytes
            cache.free(number)
        held = sum(request.total for request in trace) * shape.bytes_per_token
        fit = kv_tokens * shape.bytes_per_token * len(trace) // mapped
        rows.append(PublishedRow(one.name, held / mapped, fit))
    return rows


def replay_virtual(trace: Trace, cache: VirtualCache, context: int = CONTEXT) -> Replay:
    """`replay` on virtual memory: requests come, grow a token a step, and the newest gives way when no page is free.

    Every request gets addresses for `context` tokens. The cache must be empty, and is afterwards what the last step
    left: `Replay.waste` is in shares of its budget. A request that can never fit raises `UsageError`.
    """
    memory = _Addresses(cache, context)
    capacity = cache.num_pages * cache.page_bytes / memory.token_bytes
    return replay_on_demand(trace, capacity, memory, f"{cache.num_pages} pages")


class Moment(NamedTuple):
    """One decode step of `watch`, in bytes."""

    running: int
    """Requests that decode together."""
    held: int
    """Under tokens."""
    used: int
    """In pages in which tokens lie."""
    mapped: int
    """In pages that are mapped, as counted: spares included."""
    resident: int | None
    """Of memory, as measured; None without a backing."""


def watch(trace: Trace, cache: VirtualCache, context: int = CONTEXT, every: int = 1) -> list[Moment]:
    """Serve the whole `trace` as `replay_virtual` does, to its last token, and look at the memory every so many steps.

    Each look walks everything (`VirtualCache.check`), so what is measured is also what was counted.
    """
    memory, moments = _Addresses(cache, context), []
    run = OnDemand(trace, memory, f"{cache.num_pages} pages")
    for step, _ in enumerate(run.steps(to_the_end=True)):
        if step % every:
            continue
        cache.check()
        held = int(cache.waste().held)
        resident = cache.resident_bytes() if cache.is_backed else None
        used = cache.num_used * cache.page_bytes
        moments.append(Moment(len(run.running), held, used, cache.mapped_bytes, resident))
    return moments


class _Addresses:
    """A `VirtualCache` as memory that grows (`Growing`), counted in token slots."""

    def __init__(self, cache: VirtualCache, context: int) -> None:
        if len(cache):
            raise UsageError(f"the cache has {len(cache)} requests already")
        self.cache, self.context, self.token_bytes = cache, context, sum(cache.token_bytes)

    def admit(self, seq_id: Hashable, num_tokens: int) -> None:
        """Reserve addresses and map what the first tokens need; both or neither."""
        self.cache.reserve(seq_id, self.context)
        try:
            self.cache.grow(seq_id, num_tokens)
        except KVLabError:
            self.cache.free(seq_id)
            raise

    def append(self, seq_id: Hashable) -> None:
        """Room for one token more."""
        self.cache.grow(seq_id, self.cache.num_tokens(seq_id) + 1)

    def free(self, seq_id: Hashable) -> None:
        """Give up all that the sequence has."""
        self.cache.free(seq_id)

    def waste(self) -> Waste:
        """Where the token slots are."""
        return self.cache.waste().scaled(1 / self.token_bytes)
