"""A trace served from one tier, block by block: what an eviction policy keeps of what is asked for again."""

from __future__ import annotations

from collections.abc import Callable

from .history import History
from .prefix import block_hashes
from .prefix_replay import HitRate
from .tier_host import HostTier
from .tier_policy import Eviction
from .workload import Trace, answer_tokens, prompt_tokens


def replay_tier(
    trace: Trace,
    num_blocks: int,
    policy: str | Callable[[], Eviction] = "lru",
    block_size: int = 16,
    vocabulary: int = 32_000,
) -> HitRate:
    """Serve `trace` in order from a tier of `num_blocks` blocks, without a pool before it: tokens asked for, and found.

    Of each prompt the longest beginning is found, all but its last token (I7); then it is stored with its answer, each
    block that is not there, the end of the chain first: so its beginning counts as used last, without which the rest is
    never found. A trace without segments raises `UsageError`.
    """
    tier, hits = HostTier(num_blocks, policy), HitRate()
    for request in trace:
        said = History(prompt_tokens(request, vocabulary))
        asked = len(said)
        last = (asked - 1) // block_size
        hits.record(asked, tier.match(block_hashes(said, block_size)[:last]) * block_size)
        if request.says is not None:
            said.extend(answer_tokens(request, vocabulary))
        for key in reversed(block_hashes(said, block_size)):
            if key in tier:
                tier.touch(key)
            elif tier.store_begin(key) is not None:
                tier.store_done(key)
    return hits
