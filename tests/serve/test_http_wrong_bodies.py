"""Bodies that ask for what the server does not do: a sentence says so, with a status, in OpenAI's format."""

from __future__ import annotations

import pytest

from kvlab.serve.http import Running
from tests.serve import limited
from tests.serve.limited import CHATS, COMPLETIONS, refused
from tests.serve.serving import chat

server = limited.server  # the fixture: with a key and small limits

WRONG = (
    ({"prompt": "x"}, "The field model is required", "model"),
    ({"model": "courier"}, "The field prompt is required", "prompt"),
    ({"model": 3, "prompt": "x"}, "model: input should be a valid string", "model"),
    ({"model": "courier", "prompt": {}}, "prompt: this is a text, a list of texts", "prompt"),
    ({"model": "courier", "prompt": ["x", 1]}, "prompt: this is a text, a list of texts", "prompt"),
    ({"model": "courier", "prompt": [-1]}, "prompt: this is", "prompt"),
    ({"model": "courier", "prompt": [99999]}, "Token ids go from 0 to 1279", None),
    ({"model": "courier", "prompt": ""}, "The prompt has no token", "prompt"),
    ({"model": "courier", "prompt": []}, "1 to 8 answers; 0 are asked for", "prompt"),
    ({"model": "courier", "prompt": ["x", ""]}, "The prompt has no token", "prompt"),
    ({"model": "courier", "prompt": "x", "n": 9}, "1 to 8 answers; 9 are asked for", "n"),
    ({"model": "courier", "prompt": ["x"] * 5, "n": 2}, "1 to 8 answers; 10 are asked for", "n"),
    ({"model": "courier", "prompt": "x", "n": 0}, "n: input should be greater than or equal to 1", "n"),
    ({"model": "courier", "prompt": "x", "n": True}, "n: input should be a valid integer", "n"),
    ({"model": "courier", "prompt": "x", "max_tokens": 0}, "max_tokens: input should be greater", "max_tokens"),
    ({"model": "courier", "prompt": "x", "max_tokens": 65}, "at most 64 on this server, not 65", "max_tokens"),
    ({"model": "courier", "prompt": "x", "max_tokens": 10**30}, "max_tokens: input should be less", "max_tokens"),
    ({"model": "courier", "prompt": "x", "temperature": -0.1}, "temperature: input should be greater", "temperature"),
    ({"model": "courier", "prompt": "x", "temperature": "1"}, "temperature: input should be a valid", "temperature"),
    ({"model": "courier", "prompt": "x", "temperature": float("nan")}, "a finite number", "temperature"),
    ({"model": "courier", "prompt": "x", "top_p": 1.1}, "top_p: input should be less than or equal to 1", "top_p"),
    ({"model": "courier", "prompt": "x", "seed": 2**63}, "seed: input should be less", "seed"),
    ({"model": "courier", "prompt": "x", "stop": ""}, "stop: this is a text of 1 to 1,000 characters", "stop"),
    ({"model": "courier", "prompt": "x", "stop": list("abcde")}, "at most 4 such texts", "stop"),
    ({"model": "courier", "prompt": "x", "logprobs": 21}, "logprobs: input should be less", "logprobs"),
    ({"model": "courier", "prompt": "x", "logprobs": 1, "echo": True}, "echo does not go with logprobs", "echo"),
    ({"model": "courier", "prompt": "x", "best_of": 3}, "best_of is not supported", "best_of"),
    ({"model": "courier", "prompt": "x", "suffix": "y"}, "suffix is not supported by this server", "suffix"),
    ({"model": "courier", "prompt": "x", "logit_bias": {"5": 1}}, "logit_bias is not supported", "logit_bias"),
    ({"model": "courier", "prompt": "x", "presence_penalty": 1}, "presence_penalty is not", "presence_penalty"),
    ({"model": "courier", "prompt": "x", "stream_options": {}}, "goes with stream: true", "stream_options"),
    ({"model": "courier", "prompt": "x", "streem": True}, "Unrecognized request argument supplied: streem", "streem"),
    ({"model": "courier", "prompt": "x", "messages": []}, "Unrecognized request argument", "messages"),
    ([], "JSON object", None),
    (b"", "no JSON that can be read", None),
    (b"{'model': 1}", "no JSON that can be read", None),
    (b"\xff\xfe", "no JSON that can be read", None),
    (b"[" * 10_000, "no JSON that can be read", None),
    (b'{"model": "courier", "prompt": "\\ud800"}', "no JSON that can be read", None),
)
WRONG_CHATS = (
    ({"model": "courier"}, "The field messages is required", "messages"),
    ({"model": "courier", "messages": []}, "messages: list should have at least 1 item", "messages"),
    ({"model": "courier", "messages": [{"role": "user"}]}, "messages.0.content", "messages"),
    ({"model": "courier", "messages": [{"role": "tool", "content": "x"}]}, "'user' or 'assistant'", "messages"),
    (
        {"model": "courier", "messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]},
        'messages.0.content: this is a text, or a list of parts {"type": "text"', "messages",
    ),
    ({"model": "courier", "messages": chat("x"), "top_logprobs": 2}, "goes with logprobs: true", "top_logprobs"),
    ({"model": "courier", "messages": chat("x"), "tools": [{}]}, "tools is not supported", "tools"),
    ({"model": "courier", "messages": chat("x"), "response_format": {"type": "json_object"}}, "not supported",
     "response_format"),
)  # fmt: skip


@pytest.mark.parametrize(("body", "says", "param"), WRONG, ids=lambda value: None)
def test_a_body_that_makes_no_completion_is_refused_with_a_sentence(
    server: Running, body: object, says: str, param: str | None
) -> None:
    error = refused(server, COMPLETIONS, body, 400)
    assert says in str(error["message"]) and error["param"] == param and error["type"] == "invalid_request_error"


@pytest.mark.parametrize(("body", "says", "param"), WRONG_CHATS, ids=lambda value: None)
def test_a_body_that_makes_no_chat_is_refused_with_a_sentence(
    server: Running, body: object, says: str, param: str
) -> None:
    error = refused(server, CHATS, body, 400)
    assert says in str(error["message"]) and error["param"] == param


def test_a_refused_stream_is_refused_with_its_status_before_anything_is_sent(server: Running) -> None:
    body = {"model": "courier", "prompt": [99999], "stream": True}
    assert "Token ids go from 0 to 1279" in str(refused(server, COMPLETIONS, body, 400)["message"])
