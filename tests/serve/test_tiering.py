"""The engine with tiers: the same tokens as without (I12), found again after eviction and restart, else computed."""

from __future__ import annotations

import copy
import math
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from kvlab.errors import UsageError
from kvlab.memory import DiskTier, HostTier
from kvlab.serve.engine import Engine
from tests.serve.models import greedy, prompt, tiny

B = 4
NEW = 5
LONG = [prompt(22, seed) for seed in range(6)]


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """What a tier's thread waits for: it is set in the end, whatever fails, since the thread is waited for at exit."""
    made = threading.Event()
    yield made
    made.set()


def engine(*tiers, num_blocks: int = 9, name: str = "llama", prefix: str = "hash", **options) -> Engine:
    """A pool that holds little more than one of the prompts, so that what one leaves the next evicts."""
    return Engine(
        tiny(name), num_blocks, B, checked=True, fill=math.nan, prefix=prefix, tiers=tiers, **options
    )


def served(serving: Engine, prompts: list[list[int]], new: int = NEW) -> list[list[int]]:
    """One after the other."""
    answers = []
    for ids in prompts:
        asked = serving.submit(ids, new)
        serving.run()
        settled(serving)
        answers.append(asked.tokens)
    return answers


def settled(serving: Engine) -> None:
    """Let the tiers' threads catch up, so that what is counted does not depend on them."""
    serving.settle_tiers()
    serving.check()


def expected(prompts: list[list[int]], name: str = "llama", new: int = NEW) -> list[list[int]]:
    return [greedy(tiny(name), ids, new) for ids in prompts]


@pytest.mark.parametrize("prefix", ["hash", "radix"])
@pytest.mark.parametrize("name", ["llama", "gemma2", "deepseek_v3", "opt"])
def test_what_the_pool_has_evicted_comes_back_and_the_tokens_are_the_same(name, prefix) -> None:
    serving = engine(HostTier(64), name=name, prefix=prefix)
    assert served(serving, LONG) == expected(LONG, name)
    before, asked = serving.projected_tokens, serving.hits
    assert (before, asked.found) == (sum(len(ids) + NEW - 1 for ids in LONG), 0)
    assert served(serving, LONG) == expected(LONG, name)
    there = 5 * B  # of 22 tokens, as at least one is computed (I7)
    assert serving.hits.found == 6 * there
    assert serving.projected_tokens - before == sum(len(ids) - there + NEW - 1 for ids in LONG)
    (host,) = serving.stats().tiers
    assert 4 * there < host.tokens <= 6 * there and host.loaded * B == host.tokens and host.failed == host.dropped == 0


def test_an_answer_is_found_by_the_next_turn_and_not_computed_again() -> None:
    serving = engine(HostTier(64))
    (answer,) = served(serving, LONG[:1], new=7)
    served(serving, LONG[1:4])
    turn = [*LONG[0], *answer, *prompt(3, 9)]
    assert served(serving, [turn]) == expected([turn])
    assert serving.stats().tiers[0].tokens == (22 + 7 - 1) // B * B  # its last token was never run


def test_a_prompt_of_whole_blocks_leaves_a_token_to_compute() -> None:
    serving, whole = engine(HostTier(64)), prompt(5 * B, 30)
    served(serving, [whole, *LONG[:3]])
    assert served(serving, [whole]) == expected([whole])
    assert serving.stats().tiers[0].tokens == 4 * B


def test_the_next_engine_finds_what_the_last_one_left_on_disk(tmp_path) -> None:
    first = engine(HostTier(4), DiskTier(tmp_path, 64))
    served(first, LONG)
    first.close()
    first.close()
    second = engine(HostTier(4), DiskTier(tmp_path, 64))
    assert served(second, LONG) == expected(LONG)
    assert second.hits.found == 6 * 5 * B
    assert served(first, LONG[:1]) == expected(LONG[:1])  # it serves on, without tiers


@pytest.mark.parametrize("scales", [(0.05, 0.02), "token_head"])
def test_blocks_in_8_bits_come_back_with_the_scales_they_were_written_with(tmp_path, scales) -> None:
    asked = LONG[:3] * 2
    plain = served(engine(num_blocks=64, kv_dtype="fp8", scales=scales), asked)
    for _ in range(2):
        serving = engine(HostTier(8), DiskTier(tmp_path, 64), kv_dtype="fp8", scales=scales)
        assert served(serving, asked) == plain and serving.hits.found >= 3 * 5 * B
        serving.close()
    other = engine(DiskTier(tmp_path, 64), kv_dtype="fp8", scales=(0.02, 0.05))
    served(other, LONG[:3])
    assert other.hits.found == 0  # the same bytes would mean other numbers


@pytest.mark.parametrize("change", ["weights", "dtype", "block size"])
def test_blocks_of_another_model_dtype_or_block_size_are_not_found(tmp_path, change) -> None:
    first = engine(DiskTier(tmp_path, 64))
    served(first, LONG)
    first.close()
    other = copy.deepcopy(tiny("llama"))
    if change == "weights":
        with torch.no_grad():
            next(other.parameters())[0, 0] += 1
    if change == "dtype":
        other = other.to(torch.float64)
    size = 8 if change == "block size" else B
    second = Engine(other, 8, size, prefix="hash", tiers=[DiskTier(tmp_path, 64)], checked=True)
    served(second, LONG)
    assert second.hits.found == 0 and second.stats().tiers[0].loaded == 0


def test_a_torn_file_is_computed_instead(tmp_path) -> None:
    serving = engine(DiskTier(tmp_path, 64))
    served(serving, LONG)
    for file in tmp_path.rglob("*.kv"):
        content = bytearray(file.read_bytes())
        content[-1] ^= 1
        file.write_bytes(content)
    assert served(serving, LONG[:4]) == expected(LONG[:4])
    assert serving.hits.found == 0 and serving.stats().tiers[0].failed >= 4


def test_a_disk_that_cannot_be_written_costs_nothing_but_the_hits(tmp_path) -> None:
    serving = engine(DiskTier(tmp_path, 64))
    folder = serving._tiers.stack.tiers[0].folder
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    assert served(serving, LONG[:3] + LONG[:3]) == expected(LONG[:3] + LONG[:3])
    (disk,) = serving.stats().tiers
    assert disk.held == disk.stored == 0 and disk.failed > 0 and "No such file" in disk.error


@pytest.mark.parametrize("order", ["together", "under pressure"])
def test_tokens_are_right_whoever_runs_and_is_preempted_meanwhile(tmp_path, order) -> None:
    prompts = [ids[: 9 + 2 * number] for number, ids in enumerate(LONG)] + LONG
    blocks = 40 if order == "together" else 12
    serving = engine(HostTier(6, "lfu"), DiskTier(tmp_path, 20), num_blocks=blocks, host_blocks=4, token_budget=11)
    for _ in range(3):
        asked = [serving.submit(ids, 8) for ids in prompts]
        serving.run()
        assert [one.tokens for one in asked] == expected(prompts, new=8)
    assert serving.hits.found > 0 and serving.manager.pool.num_free == blocks


def test_others_run_while_a_request_waits_for_its_blocks(gate) -> None:
    serving = engine(HostTier(64), num_blocks=24)
    served(serving, LONG)
    serving.manager.pool.evict(99)
    running = serving.submit(prompt(6, 40), 8)
    serving.step()
    serving._tiers.stack._levels[0].worker.submit(gate.wait)
    waiting = serving.submit(LONG[0], NEW)
    for _ in range(3):
        serving.step()
    assert len(running.tokens) == 4 and waiting.state == "waiting"
    serving.abort(serving.submit(LONG[1], NEW))
    gate.set()
    serving.run()
    assert waiting.tokens == expected(LONG[:1])[0] and running.tokens == greedy(tiny("llama"), prompt(6, 40), 8)


def test_a_request_that_is_aborted_between_plan_and_step_leaves_no_bytes_behind(monkeypatch) -> None:
    serving = engine(HostTier(64))
    served(serving, LONG)
    asked = serving.submit(LONG[0], NEW)
    monkeypatch.setattr(serving._placement, "place", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        serving.step()
    assert serving._tiers._due
    monkeypatch.undo()
    serving.abort(asked)
    assert not serving._tiers._due
    assert served(serving, LONG[1:3]) == expected(LONG[1:3])


def test_tiers_without_an_index_are_refused() -> None:
    with pytest.raises(UsageError, match="prefix"):
        Engine(tiny("llama"), 8, B, tiers=[HostTier(4)])


def test_a_request_with_another_tag_finds_nothing(tmp_path: Path) -> None:
    serving = engine(HostTier(64))
    for tag in (("a", None), (None, "a"), ()):
        serving.submit(LONG[0], NEW, tag=tag)
        serving.run()
        settled(serving)
        serving.manager.pool.evict(99)
    assert serving.hits.found == 0 and serving.stats().tiers[0].held == 3 * 6
