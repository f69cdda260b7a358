"""How an answer comes and ends: in a stream, by an end token, by a stop sequence, by an abort."""

from __future__ import annotations

import torch

from tests.serve.models import VOCAB, tiny
from tests.serve.tiny_engine import PROMPTS, engine, expected, idle


def test_eos_and_stop_sequences_end_an_answer_and_are_kept_in_it():
    want = expected()[4]
    serving = engine()
    by_eos = serving.submit(PROMPTS[4], 12, eos=[want[3]])
    by_stop = serving.submit(PROMPTS[4], 12, stop=[[VOCAB, 1], want[2:5]])
    plain = serving.submit(PROMPTS[4], 12)
    serving.run()
    assert (by_eos.tokens, by_eos.reason) == (want[: want.index(want[3]) + 1], "eos")
    assert (by_stop.tokens, by_stop.reason) == (want[:5], "stop")
    assert (plain.tokens, plain.reason) == (want, "length")


def test_the_end_token_of_the_models_own_settings_is_used_and_may_be_a_list():
    model = tiny("llama")
    model.generation_config.eos_token_id = [VOCAB - 1, expected()[0][2]]
    try:
        serving = engine()
        generation = serving.submit(PROMPTS[0], 12)
        serving.run()
    finally:
        model.generation_config.eos_token_id = None
    assert generation.reason == "eos" and generation.tokens[-1] == expected()[0][2]


def test_a_stream_yields_tokens_as_they_come_while_others_are_served_too():
    serving = engine()
    one, other = serving.submit(PROMPTS[0], 6), serving.submit(PROMPTS[4], 6)
    stream = serving.stream(one)
    assert [next(stream), next(stream)] == expected()[0][:2] and not one.finished and len(other.tokens) == 2
    assert list(stream) == expected()[0][2:6]
    assert list(serving.stream(one)) == expected()[0][:6]  # of a finished one: all of it
    assert list(serving.stream(other)) == expected()[4][:6]


def test_an_abort_frees_blocks_at_once_and_ends_a_stream():
    serving = engine()
    running, waiting = serving.submit(PROMPTS[5], 12), None
    serving.step()
    waiting = serving.submit(PROMPTS[4], 12)
    stream = serving.stream(running)
    next(stream)
    serving.abort(running)
    serving.abort(waiting)
    assert list(stream) == [] and running.reason == waiting.reason == "aborted" and idle(serving)
    serving.abort(running)
    assert serving.step() == []


def test_an_abort_while_the_model_runs_gives_no_further_token():
    serving = engine()
    aborted, other = serving.submit(PROMPTS[4], 2), serving.submit(PROMPTS[5], 6)
    serving.step()
    hook = tiny("llama").model.layers[0].register_forward_hook(lambda *_: serving.abort(aborted))
    try:
        serving.step()
    finally:
        hook.remove()
    assert (aborted.tokens, aborted.reason) == (expected()[4][:1], "aborted")
    serving.run()
    assert other.tokens == expected()[5][:6] and idle(serving)


def test_end_tokens_and_stop_sequences_may_be_tensors():
    want = expected()[4]
    serving = engine()
    by_eos = serving.submit(PROMPTS[4], 12, eos=torch.tensor(want[:1]))
    by_stop = serving.submit(PROMPTS[4], 12, stop=[torch.tensor(want[:2])])
    serving.run()
    assert (by_eos.tokens, by_eos.reason) == (want[:1], "eos")
    assert (by_stop.tokens, by_stop.reason) == (want[: len(by_stop.tokens)], "stop") and len(by_stop.tokens) == 2
