"""Groups of layers with a table each on one pool: what each holds, what goes back, and that nothing is lost."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvlab.errors import InvariantBroken, OutOfBlocks, UsageError
from kvlab.memory import BlockPool, HybridManager, group_layers
from tests.memory.hybrids import manager
from tests.memory.snapshots import refused

GEMMA_3 = [None if layer % 6 == 5 else 1024 for layer in range(62)]  # 27B: 52 sliding layers, 10 full ones
GPT_OSS = [128, None] * 12


@given(st.lists(st.sampled_from([None, 4, 9]), min_size=1, max_size=40))
def test_every_layer_is_in_one_group_of_its_kind_and_has_a_place_of_its_own_there(windows: list) -> None:
    groups = group_layers(windows)
    assert sorted(layer for group in groups for layer in group.layers) == list(range(len(windows)))
    assert all(windows[layer] == group.window for group in groups for layer in group.layers)
    places = {(groups.group_of[layer], groups.place_of[layer]) for layer in range(len(windows))}
    assert len(places) == len(windows) and all(place < groups.size for _, place in places)
    assert groups.padding == len(groups) * groups.size - len(windows)


def test_groups_are_those_that_published_models_get() -> None:
    gemma, oss = group_layers(GEMMA_3), group_layers(GPT_OSS)
    assert (gemma.size, len(gemma), gemma.padding) == (10, 7, 8)
    assert (oss.size, len(oss), oss.padding) == (12, 2, 0)
    assert group_layers([128] * 12 + [None] * 13).size == 13  # nearly as many: padded, not cut
    assert len(group_layers([None] * 32)) == 1
    for wrong in ([], [None, 0]):
        with pytest.raises(UsageError):
            group_layers(wrong)


def test_one_pool_gives_a_long_context_fewer_bytes_than_a_table_for_all_layers_could() -> None:
    """Gemma 3 27B at 32k tokens: 10 layers keep all of it, 52 keep 1,024 tokens."""
    groups, size, tokens = group_layers(GEMMA_3), 16, 32_768
    hybrid = HybridManager(BlockPool(20_000, null_block=True), size, [group.window for group in groups], chunk=2048)
    hybrid.admit("a", tokens)
    for start in range(0, tokens, 2048):
        hybrid.advance("a", start, tokens)
    hybrid.slide(["a"])
    slots = sum(hybrid.num_held(["a"])) * size * groups.size
    assert sum(hybrid.num_held(["a"])) == 2048 + 6 * 64
    assert slots == pytest.approx((10 * tokens + 52 * 1024) * 1.02, rel=0.01)  # 8 layers of padding a window
    assert 62 * tokens / slots > 5.2


def test_a_long_prompt_takes_only_what_a_chunk_and_its_window_lie_in_and_moves_on_from_there() -> None:
    hybrid = manager(60, chunk=8)
    hybrid.admit("a", 100)
    assert hybrid.num_held(["a"]) == [25, hybrid.most_blocks(1, 100)] == [25, 4]
    for start in range(0, 100, 8):
        assert hybrid.advance("a", start, 100) >= min(100, start + 8)
        assert hybrid.advance("a", start, 100) >= min(100, start + 8)  # it can be repeated
        assert hybrid.slots("a", start, min(100, start + 8), group=1).all()
        assert hybrid.num_held(["a"])[1] <= 4
        hybrid.check()
    assert hybrid.num_tokens("a") == 100
    hybrid.slide(["a"])
    assert hybrid.num_held(["a"]) == [25, 2]
    hybrid.free("a")
    assert hybrid.pool.num_free == 59


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 9),
    st.integers(1, 5),
    st.integers(1, 12),
    st.integers(0, 60),
    st.lists(st.integers(1, 12), max_size=30),
)
def test_any_chunks_up_to_the_one_that_was_planned_always_have_room_even_if_no_other_block_is_free(
    window: int, size: int, chunk: int, tokens: int, steps: list[int]
) -> None:
    hybrid = manager(200, (window, None), chunk, size)
    hybrid.admit("a", tokens)
    hybrid.pool.take(hybrid.pool.num_free)
    start = 0
    for step in [*steps, *[chunk] * 60]:
        stop = min(tokens, start + min(step, chunk))
        assert hybrid.advance("a", start, tokens) >= stop
        seen = {place // size for place in range(max(0, start - window + 1), stop)}
        assert all(hybrid.table("a", 0)[place] != 0 for place in seen)
        assert hybrid.num_held(["a"])[0] <= hybrid.most_blocks(0, tokens)
        start = stop
    assert hybrid.num_tokens("a") == tokens == start


def test_a_block_that_a_sliding_group_gives_back_is_taken_by_a_full_one() -> None:
    hybrid = manager(9)
    hybrid.admit("a", 16)
    gone = hybrid.table("a", 1)[:2]
    assert hybrid.pool.num_free == 0 and hybrid.slide(["a"]) == 2
    slots, copies = hybrid.append_each(["a"])
    assert slots == [hybrid.table("a")[-1] * 4] and copies == []
    assert {hybrid.table("a")[-1], hybrid.table("a", 1)[-1]} == set(gone)
    hybrid.check()


def test_what_cannot_be_met_in_all_groups_is_done_in_none() -> None:
    hybrid = manager(10)
    hybrid.admit("a", 16)
    refused(OutOfBlocks, hybrid, call=lambda: hybrid.append_each(["a"]))
    refused(OutOfBlocks, hybrid, call=lambda: hybrid.admit("b", 5))
    refused(UsageError, hybrid, call=lambda: hybrid.admit("a", 1))
    refused(UsageError, hybrid, call=lambda: hybrid.append_each(["a", "c"]))
    refused(UsageError, hybrid, call=lambda: hybrid.fork("a", ["b", "a"]))
    refused(UsageError, hybrid, call=lambda: hybrid.admit("b", 9, prefix=[1]), match="one group")
    refused(UsageError, hybrid, call=lambda: hybrid.remap("a", {0: 1}), match="one table")
    with pytest.raises(UsageError):
        manager(chunk=0)
    with pytest.raises(UsageError):
        manager(windows=())
    with pytest.raises(UsageError, match="null_block"):
        HybridManager(BlockPool(4), 4, [None, 6])


def test_check_finds_a_block_in_two_groups_and_a_sequence_in_one_only() -> None:
    hybrid = manager()
    hybrid.admit("a", 4)
    table = hybrid.groups[1].sequences["a"].table
    hybrid.pool.release(table)
    table[:] = hybrid.table("a")
    hybrid.pool.share(table)
    with pytest.raises(InvariantBroken, match="I5: block 1 of 'a' is in groups 0 and 1"):
        hybrid.check()
    hybrid = manager()
    hybrid.admit("a", 4)
    hybrid.groups[1].free("a")
    with pytest.raises(InvariantBroken, match="in some groups"):
        hybrid.check()


def test_a_sequence_whose_admission_was_interrupted_between_two_groups_can_be_freed() -> None:
    hybrid = manager()
    hybrid.groups[1].admit("a", 9)
    assert "a" in hybrid
    hybrid.free("a")
    hybrid.check()
    assert hybrid.pool.num_free == 29
    refused(UsageError, hybrid, call=lambda: hybrid.free("a"))
