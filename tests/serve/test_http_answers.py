"""The server says what the engine says, whole and streamed, to the official client."""

from __future__ import annotations

import pytest
import torch
from openai import BadRequestError, NotFoundError, OpenAI
from prometheus_client.parser import text_string_to_metric_families

from kvlab.serve import Sampling
from kvlab.serve.http import Running
from tests.serve import answering
from tests.serve.answering import NEW
from tests.serve.serving import QUESTIONS, alone, chat, courier, ids_of, text_of

server, ask = answering.server, answering.ask  # the fixtures: courier without a key, and a client of it


@pytest.mark.parametrize("question", QUESTIONS[:4])
def test_a_chat_says_what_the_engine_says_alone_whole_and_streamed(ask: OpenAI, question: str) -> None:
    expected = alone(question, NEW)[0]
    options = dict(model="courier", messages=chat(question), temperature=0, max_tokens=NEW)
    whole = ask.chat.completions.create(**options)
    chunks = list(ask.chat.completions.create(**options, stream=True, stream_options={"include_usage": True}))
    assert whole.choices[0].message.content == text_of(expected) and whole.choices[0].message.role == "assistant"
    assert whole.choices[0].finish_reason == ("length" if len(expected) == NEW and expected[-1] != 4 else "stop")
    parts = [chunk.choices[0] for chunk in chunks if chunk.choices]
    assert "".join(part.delta.content or "" for part in parts) == text_of(expected)
    assert parts[0].delta.role == "assistant"
    assert [part.finish_reason for part in parts if part.finish_reason] == [whole.choices[0].finish_reason]
    assert len(parts) > len(expected) // 2  # it came piece by piece
    assert chunks[-1].usage == whole.usage and all(chunk.usage is None for chunk in chunks[:-1])
    assert whole.usage.prompt_tokens == len(ids_of(question)) and whole.usage.completion_tokens == len(expected)
    assert whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens


def test_the_engine_alone_says_what_transformers_says() -> None:
    model, _ = courier()
    given = torch.tensor([ids_of(QUESTIONS[0])])
    found = model.generate(given, attention_mask=torch.ones_like(given), max_new_tokens=NEW, do_sample=False)
    assert found[0, given.shape[1] :].tolist() == alone(QUESTIONS[0], NEW)[0]


def test_a_completion_takes_text_and_tokens_one_and_several(ask: OpenAI) -> None:
    _, tokenizer = courier()
    texts = ["Where is", "The order"]
    ids = [tokenizer(text)["input_ids"] for text in texts]
    options = dict(model="courier", temperature=0, max_tokens=8)
    single = [ask.completions.create(prompt=text, **options).choices[0].text for text in texts]
    assert [ask.completions.create(prompt=each, **options).choices[0].text for each in ids] == single
    for prompts in (texts, ids):
        both = ask.completions.create(prompt=prompts, **options)
        assert [choice.text for choice in both.choices] == single
        assert [choice.index for choice in both.choices] == [0, 1]
        assert both.usage.prompt_tokens == sum(map(len, ids))


def test_echo_puts_the_prompt_before_each_answer_whole_and_streamed(ask: OpenAI) -> None:
    options = dict(model="courier", prompt=["Where is", "The order"], max_tokens=5, n=2, seed=1, echo=True)
    whole = [choice.text for choice in ask.completions.create(**options).choices]
    bare = [choice.text for choice in ask.completions.create(**{**options, "echo": False}).choices]
    assert whole == [f"Where is{bare[0]}", f"Where is{bare[1]}", f"The order{bare[2]}", f"The order{bare[3]}"]
    parts = ["", "", "", ""]
    for chunk in ask.completions.create(**options, stream=True):
        parts[chunk.choices[0].index] += chunk.choices[0].text
    assert parts == whole


def test_a_seed_gives_the_engines_samples_again_and_each_is_another(ask: OpenAI) -> None:
    expected = alone(QUESTIONS[1], NEW, Sampling(1.0, seed=7), 4)
    options = dict(model="courier", messages=chat(QUESTIONS[1]), max_tokens=NEW, seed=7, n=4)
    found = [choice.message.content for choice in ask.chat.completions.create(**options).choices]
    assert found == [text_of(tokens) for tokens in expected] and len(set(found)) > 1
    parts = ["", "", "", ""]
    for chunk in ask.chat.completions.create(**options, stream=True):
        parts[chunk.choices[0].index] += chunk.choices[0].delta.content or ""
    assert parts == found
    one = ask.chat.completions.create(**{**options, "n": 1})
    assert one.choices[0].message.content == found[0]  # the first is what is given to who asks for one
    other = ask.chat.completions.create(**{**options, "seed": -7})
    assert [choice.message.content for choice in other.choices] != found


def test_top_p_and_temperature_are_the_engines(ask: OpenAI) -> None:
    settings = Sampling(1.5, 0, 0.8, seed=3)
    options = dict(model="courier", messages=chat(QUESTIONS[2]), max_tokens=NEW, seed=3, temperature=1.5, top_p=0.8)
    found = ask.chat.completions.create(**options).choices[0].message.content
    assert found == text_of(alone(QUESTIONS[2], NEW, settings)[0])
    greedy = ask.chat.completions.create(**{**options, "top_p": 0})
    assert greedy.choices[0].message.content == text_of(alone(QUESTIONS[2], NEW)[0])
    narrow = ask.chat.completions.create(**options, extra_body={"top_k": 1})
    assert narrow.choices[0].message.content == greedy.choices[0].message.content


def test_several_greedy_answers_are_the_same_one(ask: OpenAI) -> None:
    options = dict(model="courier", messages=chat(QUESTIONS[0]), temperature=0, max_tokens=NEW, n=3)
    answer = ask.chat.completions.create(**options)
    expected = alone(QUESTIONS[0], NEW)[0]
    assert [choice.message.content for choice in answer.choices] == [text_of(expected)] * 3
    assert answer.usage.completion_tokens == 3 * len(expected)


@pytest.mark.parametrize("length", [2, 5, 9])
def test_a_stop_text_ends_the_answer_and_is_never_sent_wherever_tokens_begin(ask: OpenAI, length: int) -> None:
    tokens = alone(QUESTIONS[0], NEW)[0]
    text = text_of(tokens)
    for at in range(0, len(text) - length, 3):
        stop = text[at : at + length]
        before = text[: text.index(stop)]
        options = dict(model="courier", messages=chat(QUESTIONS[0]), temperature=0, max_tokens=NEW)
        parts = list(ask.chat.completions.create(**options, stop=["never said", stop], stream=True))
        assert "".join(part.choices[0].delta.content or "" for part in parts) == before
        assert parts[-1].choices[0].finish_reason == "stop"
    whole = ask.chat.completions.create(**options, stop=stop)
    assert whole.choices[0].message.content == before
    assert text_of(tokens[: whole.usage.completion_tokens]).startswith(before + stop)  # no token after it was made
    assert stop not in text_of(tokens[: whole.usage.completion_tokens - 1])


def test_a_beginning_of_a_stop_that_does_not_come_is_sent(ask: OpenAI) -> None:
    text = text_of(alone(QUESTIONS[0], NEW)[0])
    options = dict(model="courier", messages=chat(QUESTIONS[0]), temperature=0, max_tokens=NEW)
    whole = ask.chat.completions.create(**options, stop=[text[-4:] + " and on", text[3:9] + "#"])
    assert whole.choices[0].message.content == text


def test_a_chat_without_a_limit_gets_what_there_is_room_for(ask: OpenAI) -> None:
    answer = ask.chat.completions.create(model="courier", messages=chat(QUESTIONS[0]), temperature=0)
    assert answer.choices[0].finish_reason == "stop"  # courier ends its answers
    assert ask.completions.create(model="courier", prompt="Where is", temperature=0).usage.completion_tokens <= 16


def test_parts_developers_and_fields_that_change_nothing_are_taken(ask: OpenAI) -> None:
    options = dict(model="courier", temperature=0, max_completion_tokens=NEW)
    plain = ask.chat.completions.create(messages=chat(QUESTIONS[0]), **options)
    parts = [{"type": "text", "text": part} for part in ("Where is ", "my order?")]
    messages = [
        {"role": "developer", "content": chat("")[0]["content"]},
        {"role": "user", "name": "ann", "content": parts},
    ]
    same = ask.chat.completions.create(
        messages=messages, **options, user="ann", store=False, metadata={}, frequency_penalty=0, presence_penalty=0,
        logit_bias={}, tools=[], response_format={"type": "text"}, service_tier="auto", parallel_tool_calls=True,
    )  # fmt: skip
    assert same.choices[0].message.content == plain.choices[0].message.content


def test_a_prompt_that_was_computed_before_is_found(server: Running, ask: OpenAI) -> None:
    before = server.service.worker.stats.prefix_hits
    for _ in range(2):
        ask.chat.completions.create(model="courier", messages=chat(QUESTIONS[5]), max_tokens=2)
    assert server.service.worker.stats.prefix_hits - before >= 2 * (len(ids_of(QUESTIONS[5])) // 16 - 2) * 16


def test_models_are_listed_and_others_are_not_there(ask: OpenAI) -> None:
    assert [model.id for model in ask.models.list()] == ["courier"]
    assert ask.models.retrieve("courier").owned_by == "kvlab"
    with pytest.raises(NotFoundError, match='no model "gpt" here, only "courier"') as found:
        ask.completions.create(model="gpt", prompt="x")
    assert found.value.code == "model_not_found" and found.value.param == "model"
    with pytest.raises(NotFoundError, match="only"):
        ask.models.retrieve("a/b")


def test_health_and_metrics_are_there_for_machines(server: Running, ask: OpenAI) -> None:
    http = ask._client
    assert http.get(f"{server.url}/health").json() == {"status": "ok"}
    answer = http.get(f"{server.url}/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    families = {family.name: family for family in text_string_to_metric_families(answer.text)}
    assert families["kvlab_blocks"].samples[0].value == 1024
    assert families["kvlab_finished"].samples[0].value > 0
    statuses = {sample.labels["status"]: sample.value for sample in families["kvlab_http_requests"].samples}
    assert statuses["200"] > 0


def test_too_long_a_prompt_or_answer_is_refused_with_the_numbers(ask: OpenAI) -> None:
    says = "2045 tokens, which leaves room for 4 new ones; 5 are asked for"
    with pytest.raises(BadRequestError, match=says) as found:
        ask.completions.create(model="courier", prompt=[7] * 2045, max_tokens=5)
    assert found.value.code == "context_length_exceeded" and found.value.param == "prompt"
    assert ask.completions.create(model="courier", prompt=[7] * 2045, max_tokens=4, temperature=0).choices
    with pytest.raises(BadRequestError, match="leaves room for 0 new ones; 1 is needed"):
        ask.chat.completions.create(model="courier", messages=chat("Where? " * 2000))
    with pytest.raises(BadRequestError, match="at most 4096 on this server, not 5000"):
        ask.completions.create(model="courier", prompt="x", max_tokens=5000)
