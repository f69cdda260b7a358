"""The same load in different ways: the same tokens, as many computed as the formula says, and as long as steps cost."""

from __future__ import annotations

import json
import random

import pytest

from kvlab.errors import UsageError
from kvlab.memory import make_trace
from kvlab.serve import Engine
from kvlab.serve.costmodel import step_cost
from kvlab.serve.events import stream_texts
from kvlab.serve.simulate import simulate
from kvlab.serve.ways import serve_in_batches, serve_with, static_seconds, static_tokens
from tests.serve.models import greedy, prompt, tiny

PROMPTS = [prompt(length) for length in (3, 9, 5, 12, 7)]
MOST = 6


def test_every_way_gives_the_tokens_of_generate_and_counts_what_it_computed():
    model = tiny("llama")
    wanted = [greedy(model, ids, MOST) for ids in PROMPTS]
    alone, batched = serve_in_batches(model, PROMPTS, 1, MOST), serve_in_batches(model, PROMPTS, 2, MOST)
    engine = Engine(model, 64, 4)
    served = serve_with(engine, PROMPTS, MOST)
    assert alone.tokens == batched.tokens == served.tokens == wanted
    own = sum(len(ids) + len(tokens) - 1 for ids, tokens in zip(PROMPTS, wanted, strict=True))
    assert alone.computed == served.computed == own < batched.computed
    assert (alone.peak, batched.peak, served.peak) == (1, 2, len(PROMPTS))
    assert alone.steps == sum(map(len, wanted)) > batched.steps > served.steps
    assert served.held <= sum(len(ids) + MOST for ids in PROMPTS) and served.tokens_per_second > 0
    again = serve_with(engine, PROMPTS[:1], MOST)
    assert again.computed == len(PROMPTS[0]) + len(wanted[0]) - 1, "what the engine did before does not count"


def test_an_end_that_comes_early_is_the_last_token_of_a_row():
    model = tiny("llama")
    free = [greedy(model, ids, MOST) for ids in PROMPTS[:3]]
    end = free[0][2]
    model.generation_config.eos_token_id = [end, 10**6]
    try:
        found = serve_in_batches(model, PROMPTS[:3], 3, MOST)
    finally:
        model.generation_config.eos_token_id = None
    cut = [tokens[: tokens.index(end) + 1] if end in tokens else tokens for tokens in free]
    assert found.tokens == cut and len(cut[0]) <= 3
    assert found.computed == static_tokens([(len(ids), len(t)) for ids, t in zip(PROMPTS, cut, strict=False)])


def padded(batch: list[tuple[int, int]]) -> int:
    """By walking through the steps."""
    running, cells = [list(one) for one in batch], 0
    if running:
        cells += len(running) * max(one[0] for one in running)
        while any(one[1] > 1 for one in running):
            cells += len(running)
            running = [[one[0], one[1] - 1] for one in running]
    return cells


def test_tokens_of_a_static_batch_are_those_of_walking_through_its_steps():
    draw = random.Random(0)
    for _ in range(200):
        batch = [(draw.randint(1, 30), draw.randint(1, 30)) for _ in range(draw.randint(0, 6))]
        assert static_tokens(batch) == padded(batch)


def test_a_batch_of_one_takes_as_long_as_a_simulation_with_one_seat():
    trace = make_trace("few", [30, 200, 7], [5, 1, 40])
    cost = step_cost()
    assert static_seconds(trace, 1, cost) == pytest.approx(simulate(trace, max_running=1, cost=cost).seconds, rel=1e-9)
    assert static_seconds(trace, 3, cost) < static_seconds(trace, 1, cost)


def test_a_batch_of_nobody_is_refused():
    for served in (lambda: serve_in_batches(tiny("llama"), PROMPTS, 0, 3),
                   lambda: static_seconds(make_trace("one", [3], [3]), 0, step_cost())):
        with pytest.raises(UsageError, match="at least 1 request, not 0"):
            served()


def test_only_ends_of_lines_cut_a_stream():
    text = "a\u2028b\u2029c\x85d"
    event = "data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": text}}]}, ensure_ascii=False)
    for end in ("\n", "\r\n", "\r"):
        assert stream_texts(f": ping{end}{event}{end}{end}data: [DONE]{end}") == {0: text}


def test_a_stream_is_read_whatever_else_is_in_it():
    chunk = 'data: {{"choices": [{{"index": {}, "delta": {}}}]}}\r\n\r\n'
    stream = ": hello\n\n" + chunk.format(1, '{"content": "data: \\n"}') + chunk.format(0, '{"role": "assistant"}')
    stream += chunk.format(1, '{"content": null}') + 'data: {"choices": []}\n\ndata: [DONE]\n\n'
    assert stream_texts(stream) == {1: "data: \n", 0: ""} and stream_texts("") == {}
