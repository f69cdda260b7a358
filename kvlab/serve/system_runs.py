"""Runs of one trace through the policies of other systems, with the same clock, memory and scheduler underneath."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kvlab.memory import LLAMA_3_8B, BlockManager, BlockPool, PrefixCache, RadixCache, Request, Trace, multi_turn
from kvlab.memory.addresses import address_ranges
from kvlab.memory.chunks import CHUNK, ChunkTier
from kvlab.memory.retention import RetentionPool

from .ordering import LongestPrefixFirst
from .policies import Policies
from .system_machine import Machine, Outcome, serve
from .system_reserving import PromiseStore, UpfrontStore
from .system_stores import ChunkedStore, SharingStore
from .system_texts import Texts

VATTENTION_PAGE = 2 * 2**20 // max(address_ranges(LLAMA_3_8B))
"""1,024 tokens: what a page of 2 MB holds of one layer's keys of Llama-3-8B, 8 heads x 128 numbers x 2 bytes each."""


def run_vllm(trace: Trace, machine: Machine) -> Outcome:
    """Blocks of 16, a chain of hashes, LRU; the most recent leaves and is computed again."""
    pool = BlockPool(machine.capacity // 16)
    store = SharingStore(BlockManager(pool, 16), Texts(trace), PrefixCache(pool, 16), adopt=False)
    return serve(trace, store, machine)


def run_sglang(trace: Trace, machine: Machine) -> Outcome:
    """Pages of one token in a radix tree; who finds most goes next; who has generated least leaves."""
    pool = BlockPool(machine.capacity)
    store = SharingStore(BlockManager(pool, 1), Texts(trace), RadixCache(pool, 1), publish="prefilled")
    return serve(trace, store, machine, Policies(victim=fewest_written(store), pick=LongestPrefixFirst()))


def fewest_written(store: SharingStore) -> Callable[[Sequence[Any]], Any]:
    """SGLang's victim: who has generated least, of equals the longest prompt; never the first in order (I11)."""

    def victim(running: Sequence[Any]) -> Any:
        def written(job: Any) -> tuple[int, int]:
            return max(store.num_tokens(job.id) - job.prompt, 0), -job.prompt

        return min(running[1:], key=written)

    return victim


def run_tensorrt(trace: Trace, machine: Machine) -> Outcome:
    """Blocks of 32 in a radix tree, partial reuse, priorities (the first segment highest); nobody is ever paused."""
    pool = RetentionPool(machine.capacity // 32)
    index = RadixCache(pool, 32)
    pool.only_if(index.is_leaf)

    def first_segment(job: Any) -> int:
        segments = trace.requests[job.id].segments
        return segments[0][1] if segments else 0

    manager = BlockManager(pool, 32)
    store = PromiseStore(manager, Texts(trace), index, most=machine.most, retain=first_segment)
    return serve(trace, store, machine)


def run_tgi(trace: Trace, machine: Machine) -> Outcome:
    """Slots one by one for the prompt and all new tokens asked for, at admission; prompts are found after their end."""
    pool = BlockPool(machine.capacity)
    manager, index = BlockManager(pool, 1), RadixCache(pool, 1)
    store = UpfrontStore(manager, Texts(trace), index, publish="ended", answers=False, most=machine.most)
    return serve(trace, store, machine)


def run_lmcache(trace: Trace, machine: Machine) -> Outcome:
    """vLLM's policy, and below it chunks of 256 tokens on the host, if it has room for one."""
    if machine.host < CHUNK:
        return run_vllm(trace, machine)
    pool, tier = BlockPool(machine.capacity // 16), ChunkTier(machine.host // CHUNK)
    store = ChunkedStore(BlockManager(pool, 16), Texts(trace), PrefixCache(pool, 16), adopt=False, tier=tier)
    return serve(trace, store, machine)


def run_vattention(trace: Trace, machine: Machine) -> Outcome:
    """Pages of 2 MB: a request's memory grows by 1,024 tokens at once, and nothing is shared."""
    manager = BlockManager(BlockPool(machine.capacity // VATTENTION_PAGE), VATTENTION_PAGE)
    return serve(trace, SharingStore(manager, Texts(trace)), machine)


def chat_trace(chats: int = 48, turns: int = 4, seed: int = 0) -> Trace:
    """The trace that the systems are compared on: chats under one system prompt, which come back after a pause."""
    return multi_turn(chats, turns, seed, system=500, question=60, answer=150, rate=40.0, pause=3.0)


def lengths_with_texts(trace: Trace) -> Trace:
    """The same trace, each request without segments with a text of its own, so that every system can run it."""
    rows = (
        request
        if request.segments
        else Request(request.prompt, request.answer, request.arrival, ((2**30 + number, request.prompt),), request.says)
        for number, request in enumerate(trace)
    )
    return Trace(trace.name, tuple(rows))
