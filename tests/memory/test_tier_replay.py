"""What eviction policies keep of chats whose turns come back after others have been served."""

from __future__ import annotations

import pytest

from kvlab.memory import EVICTIONS, Request, Trace, multi_turn, replay_prefixes, replay_tier


@pytest.mark.parametrize("policy", EVICTIONS)
def test_a_tier_with_room_for_everything_finds_what_a_prefix_cache_with_room_finds(policy) -> None:
    chats = multi_turn(20, 4, seed=3)
    found = replay_tier(chats, 20_000, policy)
    assert found == replay_prefixes(chats, num_blocks=20_000, running=1).hits


@pytest.mark.parametrize("policy", EVICTIONS)
def test_more_room_finds_more_and_next_to_none_only_what_all_share(policy) -> None:
    shares = [replay_tier(multi_turn(40, 5, seed=1), blocks, policy).share for blocks in (50, 200, 800, 3200)]
    assert shares == sorted(shares) and shares[0] < 0.3 < 0.8 < shares[-1]


def test_lfu_finds_more_where_texts_that_are_read_once_pass_by_and_lru_on_chats_alone() -> None:
    """No policy is best for every load. On chats who spoke last is likeliest to speak next, and LRU is hard to beat; a
    text that comes again and again outlives a flood of others only if somebody counts.
    """
    chats = multi_turn(60, 6, seed=1)
    alone = [replay_tier(chats, 800, policy).share for policy in ("lru", "lfu")]
    print(f"chats alone: LRU {alone[0]:.1%}, LFU with ageing {alone[1]:.1%}")
    assert alone[0] >= alone[1] > alone[0] - 0.05
    flood = [replay_tier(flooded(40), 400, policy).share for policy in ("lru", "lfu")]
    print(f"with single texts: LRU {flood[0]:.1%}, LFU with ageing {flood[1]:.1%}")
    assert flood[1] > 1.5 * flood[0]


def flooded(rounds: int) -> Trace:
    """Two questions about the same 800 tokens, then four texts of 1,600 that never recur; again and again."""
    requests, texts = [], iter(range(1, 10**6))
    for number in range(rounds):
        for _ in range(2):
            requests.append(Request(820, 10, float(number), ((0, 800), (next(texts), 20)), next(texts)))
        requests += [Request(1600, 10, float(number), ((next(texts), 1600),), next(texts)) for _ in range(4)]
    return Trace("flooded", tuple(requests))
