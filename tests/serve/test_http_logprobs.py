"""Logprobs from the server: the model's own, whatever the sampling, with their places in the text."""

from __future__ import annotations

import math

import torch
from openai import OpenAI

from kvlab.serve import Sampling
from tests.serve import answering
from tests.serve.answering import NEW
from tests.serve.serving import QUESTIONS, alone, chat, courier, ids_of, text_of

server, ask = answering.server, answering.ask  # the fixtures: courier without a key, and a client of it


def expected_logprobs(question: str, tokens: list[int]) -> torch.Tensor:
    """By one forward pass of transformers: log-probabilities at each token of an answer, `[tokens, vocab]`."""
    model, _ = courier()
    ids = ids_of(question)
    with torch.inference_mode():
        logits = model(torch.tensor([ids + tokens])).logits[0, len(ids) - 1 : -1]
    return logits.float().log_softmax(-1)


def test_logprobs_are_the_models_whatever_the_sampling(ask: OpenAI) -> None:
    tokens = alone(QUESTIONS[3], NEW, Sampling(1.3, seed=5))[0]
    spoken = [token for token in tokens if token != 4]
    options = dict(model="courier", messages=chat(QUESTIONS[3]), max_tokens=NEW, seed=5, temperature=1.3)
    answer = ask.chat.completions.create(**options, logprobs=True, top_logprobs=3).choices[0]
    expected = expected_logprobs(QUESTIONS[3], tokens)
    content = answer.logprobs.content
    assert "".join(entry.token for entry in content) == answer.message.content == text_of(tokens)
    assert b"".join(bytes(entry.bytes) for entry in content).decode() == answer.message.content
    for token, row, entry in zip(spoken, expected, content, strict=False):
        assert math.isclose(entry.logprob, float(row[token]), abs_tol=1e-3)
        best = [top.logprob for top in entry.top_logprobs]
        assert torch.allclose(torch.tensor(best), row.topk(3).values, atol=1e-3)
    assert len(content) == len(spoken)
    streamed = [part.choices[0] for part in ask.chat.completions.create(**options, logprobs=True, stream=True)]
    entries = [entry for part in streamed if part.logprobs for entry in part.logprobs.content]
    assert [entry.token for entry in entries] == [entry.token for entry in content]
    assert all(entry.top_logprobs == [] for entry in entries)


def test_logprobs_of_a_completion_come_with_their_places_in_the_text(ask: OpenAI) -> None:
    options = dict(model="courier", prompt="Where is", max_tokens=10, seed=2, n=2, logprobs=2)
    choices = ask.completions.create(**options).choices
    for choice in choices:
        found = choice.logprobs
        for token, offset, logprob, best in zip(
            found.tokens, found.text_offset, found.token_logprobs, found.top_logprobs, strict=True
        ):
            assert choice.text[offset:].startswith(token) and best[token] == logprob and 2 <= len(best) <= 3
        assert "".join(found.tokens) == choice.text
    streamed: list[list[str]] = [[], []]
    for part in ask.completions.create(**options, stream=True):
        streamed[part.choices[0].index] += part.choices[0].logprobs.tokens
    assert streamed == [choice.logprobs.tokens for choice in choices]


def test_logprobs_end_where_a_stop_ends_the_text(ask: OpenAI) -> None:
    text = text_of(alone(QUESTIONS[0], NEW)[0])
    options = dict(model="courier", messages=chat(QUESTIONS[0]), temperature=0, max_tokens=NEW, logprobs=True)
    stop = text[8:14]
    answer = ask.chat.completions.create(**options, stop=stop).choices[0]
    said = "".join(entry.token for entry in answer.logprobs.content)
    assert answer.message.content == text[: text.index(stop)] and said.startswith(answer.message.content)
    assert len(said) - len(answer.message.content) < len(answer.logprobs.content[-1].token)
