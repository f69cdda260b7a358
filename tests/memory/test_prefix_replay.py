"""The sharing traces through both indexes, beside an oracle that compares whole prompts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kvlab.errors import UsageError
from kvlab.memory import (
    INDEXES,
    BlockPool,
    HitRate,
    PrefixCache,
    Trace,
    answer_tokens,
    few_shot,
    lesson_trace,
    make_trace,
    multi_turn,
    no_sharing,
    prompt_tokens,
    replay_prefixes,
    shared_prefix,
    tree_of_thoughts,
)

TRACES: dict[str, Callable[[], Trace]] = {
    "system prompt": lambda: shared_prefix(25, 1, shared=70, own=(5, 40)),
    "few-shot": lambda: few_shot(24, 1, shot=21, question=9),
    "multi-turn": lambda: multi_turn(6, 4, 1, system=33, question=12, answer=20),
    "tree of thoughts": lambda: tree_of_thoughts(2, 1, root=50, thought=13),
    "no sharing": lambda: no_sharing(shared_prefix(25, 1, shared=70, own=(5, 40)), 2),
}


def oracle(trace: Trace, size: int) -> int:
    """Tokens that could be found if nothing were ever forgotten: the longest common beginning with any text before."""
    texts: list[tuple[int, ...]] = []
    found = 0
    for request in trace:
        prompt = tuple(prompt_tokens(request, 32_000).tolist())
        common = [sum(1 for _ in _equal(prompt[:-1], text)) // size * size for text in texts]
        found += max(common, default=0)
        says = tuple(answer_tokens(request, 32_000).tolist()) if request.says is not None else ()
        texts.append((prompt + says)[: len(prompt + says) // size * size])
    return found


def _equal(one: tuple[int, ...], other: tuple[int, ...]):
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            return
        yield mine


@pytest.mark.parametrize("make", TRACES.values(), ids=TRACES)
@pytest.mark.parametrize("kind", INDEXES)
@pytest.mark.parametrize("size", [1, 8, 16])
def test_with_room_for_all_every_token_that_could_be_found_is_found(
    make: Callable[[], Trace], kind: str, size: int
) -> None:
    trace = make()
    seen = replay_prefixes(trace, kind, num_blocks=8000, block_size=size)
    assert seen.hits.found == oracle(trace, size)
    assert seen.hits.asked == sum(request.prompt for request in trace)
    assert (seen.hits.found > 0) == (make is not TRACES["no sharing"])


@pytest.mark.parametrize("make", TRACES.values(), ids=TRACES)
def test_on_a_small_pool_both_find_the_same_since_both_forget_the_least_recently_used(make) -> None:
    small = [replay_prefixes(make(), kind, num_blocks=45, block_size=8) for kind in INDEXES]
    assert small[0] == small[1]
    assert small[0].most_blocks <= 45


def test_the_answers_of_a_chat_are_found_in_its_next_turn() -> None:
    chat = multi_turn(1, 6, seed=3, system=40, question=20, answer=100)
    seen = replay_prefixes(chat, "radix", block_size=1)
    assert seen.hits.found == sum(r.prompt + r.answer for r in chat.requests[:-1])  # all that was said before


def test_a_trace_of_bare_lengths_and_a_request_beyond_the_pool_are_refused() -> None:
    with pytest.raises(UsageError, match="no segments"):
        replay_prefixes(make_trace("bare", [5], [5]))
    with pytest.raises(UsageError, match="needs 9 blocks more, and 8 are free"):
        replay_prefixes(shared_prefix(1, 0, shared=70, own=(66, 66)), num_blocks=8)
    with pytest.raises(UsageError, match="no segments|answer"):
        answer_tokens(lesson_trace().requests[0], 100)


def test_the_last_that_runs_ends_too_where_the_next_needs_its_room() -> None:
    two = shared_prefix(2, 0, shared=10, own=(60, 66), answer=20)
    seen = replay_prefixes(two, num_blocks=6)  # each takes six blocks, with its answer
    assert seen.hits.asked == sum(r.prompt for r in two) and seen.most_blocks == 6


def test_a_learners_index_can_be_replayed_too() -> None:
    def mine(pool: BlockPool, block_size: int) -> PrefixCache:
        return PrefixCache(pool, block_size, lambda before, block: (before, block))  # the text itself as its key

    trace = TRACES["multi-turn"]()
    assert replay_prefixes(trace, mine) == replay_prefixes(trace, "hash")


def test_a_hit_rate_counts_a_request_once() -> None:
    rate = HitRate()
    assert rate.share == 0.0
    rate.record(10, 4)
    rate.record(14, 12, again=True)
    assert rate == HitRate(10, 4) and rate.share == 0.4


def test_an_answers_text_is_kept_with_the_trace(tmp_path) -> None:
    trace = multi_turn(2, 2, 0)
    trace.save(tmp_path / "trace.json")
    assert Trace.load(tmp_path / "trace.json") == trace
    assert all(request.says is not None for request in trace)
