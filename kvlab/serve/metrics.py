"""The engine's counters as text that Prometheus reads."""

from __future__ import annotations

from typing import NamedTuple


class TierStats(NamedTuple):
    """What one tier of an engine holds, and has done, in blocks; tokens: of admitted requests, which it gave.

    failed: stores and loads that failed, after which the block is computed. dropped: blocks that there was no way to
    store, since the tier was full of blocks in use or too slow. error: what the last failure said.
    """

    name: str
    blocks: int
    held: int
    stored: int = 0
    loaded: int = 0
    failed: int = 0
    dropped: int = 0
    tokens: int = 0
    error: str = ""


class Stats(NamedTuple):
    """What an engine is doing, and has done since it was made. `Engine.stats()` gives it.

    running, waiting, swapped: requests now, a branch counting as one. blocks, blocks_free, blocks_cached: of the pool;
    a cached block is free but still holds a prefix. host_blocks, host_blocks_free: of the host's. steps,
    computed_tokens: run so far, of which generated_tokens were sampled. finished, aborted: requests. preemptions: how
    often a request had to leave, of which swaps went to the host; recomputed_tokens were dropped with their blocks.
    prefix_queries, prefix_hits: prompt tokens looked up in the prefix index and found there. planning_seconds,
    step_seconds: spent. tiers: each tier's `TierStats`, the nearest first.
    """

    running: int = 0
    waiting: int = 0
    swapped: int = 0
    blocks: int = 0
    blocks_free: int = 0
    blocks_cached: int = 0
    host_blocks: int = 0
    host_blocks_free: int = 0
    steps: int = 0
    computed_tokens: int = 0
    generated_tokens: int = 0
    finished: int = 0
    aborted: int = 0
    preemptions: int = 0
    swaps: int = 0
    recomputed_tokens: int = 0
    prefix_queries: int = 0
    prefix_hits: int = 0
    planning_seconds: float = 0.0
    step_seconds: float = 0.0
    tiers: tuple[TierStats, ...] = ()


HELP = {
    "running": "Requests that hold blocks.",
    "waiting": "Requests that wait and hold nothing.",
    "swapped": "Requests whose blocks are on the host.",
    "blocks": "Blocks of the pool.",
    "blocks_free": "Blocks that nobody holds.",
    "blocks_cached": "Free blocks that still hold a prefix.",
    "host_blocks": "Blocks of the host pool.",
    "host_blocks_free": "Host blocks that nobody holds.",
    "steps": "Steps run.",
    "computed_tokens": "Tokens run, again or for the first time.",
    "generated_tokens": "Tokens sampled.",
    "finished": "Requests that ended by themselves.",
    "aborted": "Requests that were aborted.",
    "preemptions": "Times that a request had to leave.",
    "swaps": "Times that it left for the host.",
    "recomputed_tokens": "Tokens whose blocks were dropped when a request left.",
    "prefix_queries": "Prompt tokens looked up in the prefix index.",
    "prefix_hits": "Prompt tokens found there.",
    "planning_seconds": "Time spent deciding.",
    "step_seconds": "Time spent in steps.",
}
TIER_HELP = {
    "blocks": "Blocks that the tier has room for.",
    "held": "Blocks that can be found there.",
    "stored": "Blocks stored.",
    "loaded": "Blocks loaded.",
    "failed": "Stores and loads that failed.",
    "dropped": "Blocks that it could not take.",
    "tokens": "Prompt tokens that it gave.",
}
NOW = {"running", "waiting", "swapped", "blocks", "blocks_free", "blocks_cached", "host_blocks", "host_blocks_free"}


def prometheus(stats: Stats, prefix: str = "kvlab") -> str:
    """`stats` in Prometheus's text exposition format, version 0.0.4: help, type and value of each metric."""
    lines = []
    for name, value in stats._asdict().items():
        if name == "tiers":
            continue
        metric = f"{prefix}_{name}" if name in NOW else f"{prefix}_{name}_total"
        kind = "gauge" if name in NOW else "counter"
        lines += [f"# HELP {metric} {HELP[name]}", f"# TYPE {metric} {kind}", f"{metric} {value!r}"]
    for name, text in TIER_HELP.items() if stats.tiers else ():
        gauge = name in ("blocks", "held")
        metric = f"{prefix}_tier_{name}" if gauge else f"{prefix}_tier_{name}_total"
        lines += [f"# HELP {metric} {text}", f"# TYPE {metric} {'gauge' if gauge else 'counter'}"]
        lines += [
            f'{metric}{{level="{level}",tier="{tier.name}"}} {getattr(tier, name)}'
            for level, tier in enumerate(stats.tiers)
        ]
    return "\n".join(lines) + "\n"
