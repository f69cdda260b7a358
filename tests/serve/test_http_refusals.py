"""Who is let in, what there is and which settings make sense: all else is refused, in OpenAI's format."""

from __future__ import annotations

import json

import httpx
import pytest
from openai import AuthenticationError

from kvlab.errors import InvariantBroken, UsageError
from kvlab.serve.http import Running, Settings
from tests.serve import limited
from tests.serve.limited import BEARER, COMPLETIONS, KEY
from tests.serve.serving import client, courier_server, post

server = limited.server  # the fixture: with a key and small limits


def test_only_the_key_opens_and_a_refusal_does_not_say_how_near_it_was(server: Running) -> None:
    body = json.dumps({"model": "courier", "prompt": "x"}).encode()
    answers = []
    wrong = ("", "Bearer", f"Basic {KEY}", "Bearer the-key", f"Bearer {KEY}x", f"Bearer {KEY[:-1]}")
    for given_key in wrong:
        status, answer, headers = post(server, COMPLETIONS, body, Authorization=given_key.encode().decode("latin-1"))
        assert status == 401 and headers["www-authenticate"] == "Bearer"
        answers.append(answer)
    assert all(answer == answers[0] for answer in answers) and answers[0]["error"]["code"] == "invalid_api_key"
    assert httpx.get(f"{server.url}/metrics").status_code == 401
    assert httpx.get(f"{server.url}/health").status_code == 200
    assert post(server, COMPLETIONS, body, **BEARER)[0] == 200


def test_the_official_client_hears_of_a_wrong_key() -> None:
    with courier_server(Settings(api_key="right")) as server:
        with pytest.raises(AuthenticationError, match="asks for its API key"):
            client(server, "wrong").models.list()
        assert client(server, "right").models.list().data[0].id == "courier"


def test_what_is_not_there_and_what_is_not_done_with_it(server: Running) -> None:
    status, answer, _ = post(server, "/v1/embeddings", b"{}", **BEARER)
    assert status == 404 and "POST /v1/embeddings: Not Found." == answer["error"]["message"]
    status, _, headers = post(server, "/v1/completions/", b"{}", **BEARER)
    assert status == 404 and "location" not in headers  # a redirect would lead where the client's Host header says
    status, answer, headers = post(server, "/v1/models", b"{}", **BEARER)
    assert status == 405 and headers["allow"]
    status, answer, _ = post(server, COMPLETIONS, b"{}", **BEARER, Content_Type="text/plain")
    assert status == 415 and "Content-Type: application/json" in answer["error"]["message"]


def test_settings_that_make_no_sense_are_refused() -> None:
    wrong = {"max_tokens": 0, "max_queue": -1, "max_wait": float("inf"), "drain_seconds": -1.0, "api_key": ""}
    for name, value in wrong.items():
        with pytest.raises(UsageError):
            Settings(**{name: value})


def test_a_gate_that_counts_wrongly_is_found(server: Running) -> None:
    gate = server.service.gate
    gate.waiting -= 1
    with pytest.raises(InvariantBroken):
        gate.check()
    gate.waiting += 1
    gate.check()
