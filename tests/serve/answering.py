"""A server of courier without a key, and the official client of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from openai import OpenAI

from kvlab.serve.http import Running
from tests.serve.serving import client, courier_server

NEW = 20


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    """A server of courier."""
    with courier_server() as running:
        yield running


@pytest.fixture(scope="module")
def ask(server: Running) -> OpenAI:
    """The official client of that server."""
    return client(server)
