"""Failures of other systems' offloading that ours must not have (FAILURES.md F29, F30)."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator

import pytest

from kvlab.memory import DiskTier, HostTier
from kvlab.serve.engine import Engine
from tests.serve.models import greedy, prompt, tiny

B = 4
NEW = 6
LONG = [prompt(22, seed) for seed in range(5)]


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """What a tier's thread waits for: it is set in the end, whatever fails, since the thread is waited for at exit."""
    made = threading.Event()
    yield made
    made.set()


def engine(*tiers, num_blocks: int, **options) -> Engine:
    return Engine(tiny("llama"), num_blocks, B, checked=True, fill=math.nan, prefix="hash", tiers=tiers, **options)


def content(serving: Engine, blocks: list[int]) -> dict[object, bytes]:
    """What lies in these blocks, by their keys."""
    rows, _ = serving._tiers.bytes.pack(blocks)
    key_of = serving.manager.pool.key_of
    return {key_of(block): row.tobytes() for block, row in zip(blocks, rows, strict=True)}


def test_f29_what_is_on_the_host_is_what_was_published_though_the_block_is_reused_before_it_is_stored(gate) -> None:
    serving = engine(HostTier(64), num_blocks=8)
    stack, pool = serving._tiers.stack, serving.manager.pool
    stack._levels[0].worker.submit(gate.wait)  # the tier's thread stands still: nothing is stored yet
    published: dict[object, bytes] = {}
    for ids in LONG:  # each takes all blocks that those before it left
        serving.submit(ids, NEW)
        while serving.has_work:
            serving.step()
            filed = [block for block in range(8) if pool.key_of(block) is not None]
            published |= {key: data for key, data in content(serving, filed).items() if key not in published}
    assert not len(stack.tiers[0]) and len(published) > 3 * 8
    gate.set()
    stack.drain()
    loads = stack.load(list(published))
    stack.wait(loads)
    assert all(load.data is not None and load.data.tobytes() == published[load.key] for load in loads)


@pytest.mark.parametrize("ahead", [0, 1, 3])
def test_f30_a_matched_block_at_the_head_of_the_free_list_is_not_handed_out_while_others_come_back(ahead) -> None:
    """Its first blocks are in the pool, free and next to be given up; those that follow come from the tier.

    For these, blocks must be taken: were the matched ones not held first, they would be among them.
    """
    serving = engine(HostTier(64), num_blocks=7)
    first = serving.submit(LONG[0], NEW)
    serving.run()
    serving._tiers.stack.drain()
    pool, keys = serving.manager.pool, serving._reuse._keys(serving._reuse._history(first))
    order = [pool.key_of(block) for block in pool._cached]
    assert set(order) <= set(keys)
    tail = [pool.lookup(key) for key in keys[ahead + 1 : 7]]
    for block in tail:
        pool.withdraw(block)
    kept = [pool.lookup(key) for key in keys[1 : ahead + 1]]
    assert list(pool._cached) == kept[::-1]  # nothing with a hash is free but what will be matched
    again = serving.submit(LONG[0], NEW)
    serving.step()
    table = serving.manager.table(again.id)
    assert table[:ahead] == kept and len(set(table)) == len(table)
    serving.run()
    assert again.tokens == first.tokens == greedy(tiny("llama"), LONG[0], NEW)
    assert serving.stats().tiers[0].tokens == (5 - ahead) * B


def test_f30_a_block_that_is_being_brought_back_leaves_no_tier_and_others_use_the_pool(tmp_path, gate) -> None:
    serving = engine(HostTier(6), DiskTier(tmp_path, 64), num_blocks=16)
    for ids in LONG:
        serving.submit(ids, NEW)
        serving.run()
        serving._tiers.stack.drain()
    serving.manager.pool.evict(99)
    running = serving.submit(prompt(5, 40), 20)
    serving.step()
    serving._tiers.stack.drain()  # its first block went to the host, and another from there to the disk
    for level in serving._tiers.stack._levels:
        level.worker.submit(gate.wait)
    waiting = serving.submit(LONG[4], NEW)
    serving.step()  # its blocks are asked for, and none of the pool's is held for it
    assert waiting.state == "waiting" and serving.manager.pool.num_free == 16 - len(serving.manager.table(running.id))
    pinned = {key for tier in serving._tiers.stack.tiers for key in tier.pins()}
    others = [bytes([number]) * 32 for number in range(9)]
    row, _ = serving._tiers.bytes.pack([0])
    for key in others:  # a rush on the tiers
        serving._tiers.stack.store(key, row[0])
    assert len(pinned) == 5 and all(serving._tiers.stack.where(key) is not None for key in pinned)
    gate.set()
    serving.run()
    assert waiting.tokens == greedy(tiny("llama"), LONG[4], NEW)
    assert running.tokens == greedy(tiny("llama"), prompt(5, 40), 20)
