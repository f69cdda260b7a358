"""A server with small limits and a key, and what it says when it refuses a body."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from kvlab.serve.http import Running, Settings
from tests.serve.serving import courier_server, post

COMPLETIONS, CHATS = "/v1/completions", "/v1/chat/completions"
KEY = "the-k\u00e9y"
LIMITS = Settings(
    api_key=KEY, max_body=20_000, max_choices=8, max_connections=12, body_seconds=1.0, header_seconds=1.0, max_tokens=64
)
BEARER = {"Authorization": f"Bearer {KEY}".encode().decode("latin-1")}


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    """A server of courier with a key and small limits."""
    with courier_server(LIMITS) as running:
        yield running


def refused(server: Running, path: str, body: object, status: int) -> dict[str, str | None]:
    """The error that a body gets, which is in OpenAI's format and says something."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    found, answer, _ = post(server, path, data, **BEARER)
    assert found == status, answer
    error = answer["error"]
    assert set(error) == {"message", "type", "param", "code"} and error["message"].endswith(".")
    return error
