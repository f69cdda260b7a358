"""A ring of blocks that are written again in place, beside release behind a window: when it is right, and its bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvlab.errors import InvariantBroken, OutOfBlocks, UsageError
from kvlab.memory import PRESETS, BlockPool, RingTable, WindowManager, fork, slot_mapping


@given(st.integers(1, 12), st.integers(1, 5), st.lists(st.integers(0, 9), max_size=30))
def test_a_ring_holds_every_token_of_the_window_whenever_somebody_looks(
    window: int, size: int, counts: list[int]
) -> None:
    pool = BlockPool(40)
    ring, memory, free = RingTable(window, size, pool), {}, pool.num_free
    for count in counts:
        count, start = min(count, ring.room), ring.num_tokens
        memory |= {slot: start + i for i, slot in enumerate(ring.extend(count))}
        ring.check()
        for query in range(start, ring.num_tokens):  # each new token looks once all of them are written
            seen = range(max(0, query - window + 1), query + 1)
            assert [memory[slot] for slot in slot_mapping(ring.table, seen.start, seen.stop, size)] == list(seen)
        assert free - pool.num_free == min(ring.size, -(-ring.num_tokens // size))
    ring.free()
    assert pool.num_free == free


def test_a_chunk_that_would_overwrite_what_its_first_token_sees_is_refused() -> None:
    ring = RingTable(6, 4, BlockPool(8))
    assert ring.room == 12
    ring.extend(9)
    assert ring.room == 4 * (1 + 3) - 9
    with pytest.raises(UsageError, match="8 tokens do not fit beside the window of 6: the ring has room for 7"):
        ring.extend(8)
    assert ring.num_tokens == 9 and len(ring.extend(7)) == 7


def test_a_ring_is_wrong_where_blocks_are_shared_and_a_window_that_is_released_is_right() -> None:
    """Two samples of one prompt: what one of them writes must not change what the other sees."""
    size, window = 4, 6

    def written(memory: dict, slots: list[int], name: str, start: int) -> None:
        memory |= {slot: (name, start + i) for i, slot in enumerate(slots)}

    pool, memory = BlockPool(12), dict[int, tuple[str, int]]()
    ring = RingTable(window, size, pool)
    written(memory, ring.extend(12), "prompt", 0)
    sibling = fork(ring.table, pool)  # by hand, since the ring itself refuses
    written(memory, ring.extend(4), "a", 12)
    seen = slot_mapping(sibling, 12 - window + 1, 12, size)
    assert [memory[slot] for slot in seen] == [("prompt", place) for place in range(7, 12)]  # right for a while
    written(memory, ring.extend(4), "a", 16)
    assert [memory[slot] for slot in seen] != [("prompt", place) for place in range(7, 12)]  # and then overwritten
    with pytest.raises(InvariantBroken, match="I5"):
        ring.check()
    with pytest.raises(UsageError, match="one owner"):
        ring.fork()

    sliding, memory = WindowManager(12, size, window), {}
    sliding.admit("a", 12)
    written(memory, sliding.slots("a").tolist(), "prompt", 0)
    sliding.fork("a", ["b"])
    for start in (12, 16):
        sliding.slide("a")
        written(memory, sliding.append_cow("a", 4).slots.tolist(), "a", start)
    assert [memory[slot] for slot in sliding.slots("b", 7).tolist()] == [("prompt", place) for place in range(7, 12)]


def test_a_ring_that_finds_no_block_changes_nothing() -> None:
    pool = BlockPool(2)
    ring = RingTable(6, 4, pool)
    ring.extend(8)
    with pytest.raises(OutOfBlocks):
        ring.extend(1)
    assert ring.num_tokens == 8 and pool.num_free == 0
    ring.check()


def test_bytes_of_a_ring_and_of_a_released_window_are_both_those_of_the_window_and_a_block_or_two() -> None:
    """Mistral 7B with 16-token blocks, 20,000 tokens: 2.4 GiB without a window, about 0.5 GiB with either way."""
    shape, size, tokens = PRESETS["Mistral-7B-v0.1"], 16, 20_000
    window, block = int(shape.window or 0), size * shape.bytes_per_token
    ring = RingTable(window, size, BlockPool(2000))
    sliding = WindowManager(2000, size, window)
    sliding.admit("a", 0)
    most = 0
    for _ in range(tokens):
        sliding.slide("a")
        sliding.append("a")
        ring.extend(1)
        most = max(most, 1999 - sliding.pool.num_free)
    assert len(ring.ring) == 257 and most == 257  # the same for one owner
    assert shape.bytes_at(tokens) == window * shape.bytes_per_token == 256 * block
    assert most * block / shape.bytes_at(tokens) == pytest.approx(1, abs=1 / 256)
    assert tokens * shape.bytes_per_token > 4.8 * most * block


def test_a_short_sequence_takes_no_more_blocks_than_it_fills_in_either_way() -> None:
    ring, sliding = RingTable(100, 4, BlockPool(40)), WindowManager(40, 4, 100)
    ring.extend(9)
    sliding.admit("a", 9)
    assert len(ring.ring) == len(sliding.table("a")) == 3
