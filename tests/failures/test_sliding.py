"""Failures of other systems' sliding windows that ours must not have (FAILURES.md F14, F26)."""

from __future__ import annotations

import functools
import math
import random
from itertools import permutations

import pytest
import torch

from kvlab.memory import WindowManager
from kvlab.serve.engine import Engine
from tests.serve.models import greedy, prompt, tiny

B, WINDOW, NEW = 4, 6, 8
WINDOWED = ["mistral", "gemma2", "gemma3", "gpt_oss"]


@pytest.mark.parametrize("order", list(permutations("abc")), ids="".join)
def test_f14_forks_that_run_past_the_window_in_turns_and_are_freed_in_any_order_leave_nothing(order) -> None:
    """Behind the window a table names the null block again and again: counted as often, freed as often, never taken."""
    manager, draw = WindowManager(20, B, WINDOW), random.Random("".join(order))
    memory: dict[int, tuple[str, int]] = {}

    def grow(name: str) -> None:
        position = manager.num_tokens(name)
        manager.slide(name)
        write = manager.append_cow(name)
        for source, target in write.copies:
            memory.update({target * B + i: memory[source * B + i] for i in range(B) if source * B + i in memory})
        memory[int(write.slots[0])] = (name, position)

    manager.admit("a", 10)
    memory |= {slot: ("a", place) for place, slot in enumerate(manager.slots("a").tolist())}
    manager.fork("a", ["b", "c"])
    forked = 10
    for _ in range(60):
        grow(draw.choice("abc"))
        manager.check()
    for name in order:
        length = manager.num_tokens(name)
        start = length - WINDOW + 1
        seen = [memory[slot] for slot in manager.slots(name, start).tolist()]
        assert seen == [(name if place >= forked else "a", place) for place in range(start, length)]
        assert manager.table(name).count(0) >= 2
        manager.free(name)
        manager.check()
    assert manager.pool.num_free == 19 and manager.pool.ref_count(0) == 1


@functools.cache
def expected(name: str) -> list[list[int]]:
    return [greedy(tiny(name), prompt(length), NEW) for length in range(1, 19)]


@pytest.mark.parametrize("name", WINDOWED)
@pytest.mark.parametrize("budget", [512, 5, 1], ids=["one-shot", "chunks of 5", "token by token"])
def test_f26_a_window_of_six_gives_the_tokens_of_generate_for_prompts_of_one_to_eighteen(name, budget) -> None:
    serving = Engine(tiny(name), 30, B, checked=True, fill=math.nan, hybrid=True, token_budget=budget)
    for length, want in zip(range(1, 19), expected(name), strict=True):
        asked = serving.submit(prompt(length), NEW)
        for step, token in enumerate(serving.stream(asked)):
            assert token == want[step], f"token {step} after a prompt of {length}"
            held = serving.manager.num_held([asked.id])[0] if asked.id in serving.manager else 0
            assert held <= 3 or budget == 512 and not step  # 5 tokens behind the next one touch 2 or 3 blocks of 4
        assert asked.tokens == want and serving.manager.pool.num_free == 29


@pytest.mark.parametrize("name", WINDOWED)
def test_f26_the_logits_are_those_of_the_model_at_each_step_and_each_length(name) -> None:
    """Not only the largest of them: past the window every number, within what fp32 sums may differ by."""
    from kvlab.memory import BlockManager
    from kvlab.serve.hf import PagedModel
    from tests.serve.running import decode

    ids, model = prompt(18), tiny(name)
    scores: list[list[torch.Tensor]] = [[]]
    paged = PagedModel(model, 8, B, fill=math.nan)
    tokens = decode(paged, BlockManager(8, B), [ids], NEW, chunk=5, logits=scores)[0]
    with torch.inference_mode():
        full = model(torch.tensor([[*ids, *tokens]])).logits[0, len(ids) - 1 : -1]
    assert torch.allclose(torch.stack(scores[0]), full, atol=1e-4)
