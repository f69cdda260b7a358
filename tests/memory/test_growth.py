"""One more token for each of many: like one after the other, but all or none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvlab.errors import OutOfBlocks, UsageError
from kvlab.memory import BlockManager, BlockPool
from tests.memory.snapshots import snapshot


class Other(BlockPool):
    """A pool of another class, whose counts are asked for one by one."""


def grown(lengths, forks, size, kind, num_blocks=60):
    manager = BlockManager(kind(num_blocks), size)
    for number, length in enumerate(lengths):
        manager.admit(number, length)
    for number, parent in enumerate(forks):
        manager.fork(parent % len(lengths), [f"fork {number}"])
    return manager


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=5),
    st.lists(st.integers(0, 9), max_size=4),
    st.integers(1, 4),
    st.sampled_from([BlockPool, Other]),
    st.integers(1, 6),
    st.randoms(),
)
def test_it_is_like_one_after_the_other(lengths, forks, size, kind, steps, random):
    together, apart = (grown(lengths, forks, size, kind) for _ in range(2))
    names = list(together)
    for _ in range(steps):
        some = random.sample(names, random.randint(1, len(names)))
        slots, copies = together.append_each(some)
        writes = [apart.append_cow(name) for name in some]
        together.check()
        assert [together.num_tokens(name) for name in names] == [apart.num_tokens(name) for name in names]
        assert together.pool.num_free == apart.pool.num_free
        assert len(copies) == sum(len(write.copies) for write in writes)
        assert slots == [int(together.slots(name)[-1]) for name in some] and len(set(slots)) == len(slots)
        assert all(together.pool.ref_count(slot // size) == 1 for slot in slots)  # I5


@given(st.lists(st.integers(1, 9), min_size=2, max_size=5), st.lists(st.integers(0, 9), max_size=4), st.integers(0, 3))
def test_with_too_few_blocks_nothing_changes(lengths, forks, short):
    manager = grown(lengths, forks, 3, BlockPool)
    names = list(manager)
    probe = grown(lengths, forks, 3, BlockPool)
    free = probe.pool.num_free
    probe.append_each(names)
    needed = free - probe.pool.num_free
    manager.pool.take(manager.pool.num_free - max(0, needed - 1 - short))
    before = snapshot(manager)
    if not needed:
        return
    with pytest.raises(OutOfBlocks, match=f"needed {needed} free block"):
        manager.append_each(names)
    assert snapshot(manager) == before


def test_somebody_unknown_is_named_and_nobody_grows():
    manager = grown([3, 4], [], 4, BlockPool)
    with pytest.raises(UsageError, match="no sequence 'x' is admitted"):
        manager.append_each([0, "x"])
    assert manager.num_tokens(0) == 3 and manager.append_each([]) == ([], [])
