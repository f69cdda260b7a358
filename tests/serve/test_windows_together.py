"""Sliding windows together with prefixes, samples, beams and 8 bits, and what does not go with them."""

from __future__ import annotations

import math

import pytest

from kvlab.compute import Scales
from kvlab.errors import UsageError
from kvlab.memory import BlockManager, HostTier, RadixCache
from kvlab.serve.engine import Engine
from kvlab.serve.hf_support import Unsupported
from kvlab.serve.sampling import Sampling
from tests.serve.models import attention, greedy, prompt, tiny
from tests.serve.windowed import NEW, PROMPTS, B, engine, idle


@pytest.mark.parametrize("options", [{}, {"token_budget": 7}])
def test_prompts_that_begin_alike_are_found_again_where_all_layers_slide(options):
    model, shared = tiny("mistral"), prompt(24, 9)
    prompts = [[*shared, *prompt(n, n)] for n in (3, 6, 1)] + [shared]
    serving = engine("mistral", prefix="hash", **options)
    first = serving.submit(prompts[0], NEW)
    serving.run()
    rest = [serving.submit(ids, NEW) for ids in prompts[1:]]
    serving.run()
    assert [one.tokens for one in [first, *rest]] == [greedy(model, ids, NEW) for ids in prompts]
    assert serving.hits.found == 24 + 24 + 20
    assert idle(serving)


def test_a_preempted_request_finds_what_is_left_of_its_own_window():
    model, prompts = tiny("mistral"), [prompt(length, 5) for length in range(6, 14)]
    serving = engine("mistral", 12, prefix="hash", token_budget=8, watermark=0.0)
    asked = [serving.submit(ids, 16) for ids in prompts]
    serving.run()
    assert [one.tokens for one in asked] == [greedy(model, ids, 16) for ids in prompts]
    without = sum(map(len, prompts)) + 8 * 15 + serving.scheduler.recomputed_tokens
    assert serving.stats().preemptions > 0 and serving.projected_tokens < without
    assert serving.hits.found == 0 and idle(serving)  # one's own is no shared prefix (F7)


@pytest.mark.parametrize("name", ["mistral", "gemma3"])
def test_samples_of_one_prompt_share_it_and_are_those_of_an_engine_that_keeps_everything(name):
    answers = []
    for options in ({"hybrid": True}, {}):
        serving = Engine(tiny(name), 120, B, checked=True, fill=math.nan, **options)
        asked = serving.sample(PROMPTS[3], 4, NEW, Sampling(temperature=1.0, seed=3))
        serving.run()
        answers.append([sample.tokens for sample in asked.samples])
    assert answers[0] == answers[1] and len(set(map(tuple, answers[0]))) > 1


@pytest.mark.parametrize("name", ["mistral", "gemma3"])
def test_beams_past_the_window_are_those_of_generate(name):
    model = attention(tiny(name), "eager")
    serving = engine(name, 120)
    asked = serving.beam(PROMPTS[3], 3, NEW)
    serving.run()
    assert asked.hypotheses[0].tokens == greedy(model, PROMPTS[3], NEW, num_beams=3)
    assert idle(serving)


@pytest.mark.parametrize("scales", [None, (0.05, 0.02), "token_head"], ids=str)
@pytest.mark.parametrize("name", ["mistral", "gemma3"])
def test_eight_bits_behind_windows_are_those_of_an_engine_that_keeps_everything(name, scales):
    answers = []
    for hybrid in (True, False):
        options = {"kv_dtype": "fp8", "scales": scales, "hybrid": hybrid}
        serving = Engine(tiny(name), 60, B, checked=True, fill=math.nan, token_budget=16, **options)
        asked = [serving.submit(ids, NEW) for ids in PROMPTS[2:5]]
        serving.run()
        answers.append([one.tokens for one in asked])
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    "name, options, says",
    [
        ("gemma3", {"prefix": "hash"}, "prefix= and hybrid= do not go together for a model with 2 groups of layers"),
        ("mistral", {"prefix": "radix"}, 'prefixes are found by prefix="hash"'),
        ("mistral", {"prefix": RadixCache}, 'prefixes are found by prefix="hash"'),
        ("mistral", {"host_blocks": 4}, "host_blocks= and hybrid= do not go together"),
        ("mistral", {"prefix": "hash", "tiers": [HostTier(4)]}, "tiers= and hybrid= do not go together"),
        ("gemma3", {"kv_dtype": "fp8", "scales": Scales([(1.0, 1.0), (2.0, 2.0)])}, "scales that differ by layer"),
        ("mistral", {"manager": BlockManager(60, B)}, "manager= and hybrid= do not go together"),
    ],
)
def test_what_does_not_go_with_windows_is_refused_in_a_sentence(name, options, says):
    with pytest.raises(UsageError, match=says):
        engine(name, **options)


def test_a_layer_that_sees_more_than_its_configuration_says_is_refused():
    model = tiny("mistral")
    layer = model.model.layers[1].self_attn
    forward = layer.forward
    windows = [model.config.sliding_window, None]

    def further(*args, **kwargs):
        model.config.sliding_window = windows[1]
        try:
            return forward(*args, **kwargs)
        finally:
            model.config.sliding_window = windows[0]

    layer.forward = further
    try:
        with pytest.raises(Unsupported, match="layer 1 is said to see the last 6 tokens, but asks for all"):
            engine("mistral")
    finally:
        del layer.forward
