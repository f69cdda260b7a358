"""A server of courier on the loopback, clients for it, and what the engine says when it is asked one by one."""

from __future__ import annotations

import functools
import json
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from openai import OpenAI

from kvlab.models import EXAMPLE_ORDER, load_courier
from kvlab.serve import Engine, Sampling
from kvlab.serve.http import Running, Settings, serving

QUESTIONS = (
    "Where is my order?", "What did I order?", "Who brings it?", "How late is it?", "What does it cost?",
    "Is there fish in the soup?", "When was it promised?", "Where does it go?",
)  # fmt: skip
SYSTEM = {"role": "system", "content": EXAMPLE_ORDER}
courier = functools.cache(load_courier)


def chat(question: str) -> list[dict[str, str]]:
    """A customer's first turn."""
    return [SYSTEM, {"role": "user", "content": question}]


def ids_of(question: str) -> list[int]:
    """The token ids of that chat, by the tokenizer's own template."""
    _, tokenizer = courier()
    return tokenizer.apply_chat_template(chat(question), add_generation_prompt=True)["input_ids"]


@functools.cache
def alone(question: str, new: int, sampling: Sampling | None = None, n: int = 1) -> list[list[int]]:
    """The tokens of the answers to that chat, from an engine that does nothing else and shares nothing."""
    model, _ = courier()
    engine = Engine(model, 256)
    if sampling is None:
        found = [engine.submit(ids_of(question), new)] * n
    else:
        found = engine.sample(ids_of(question), n, new, sampling).samples
    engine.run()
    return [generation.tokens for generation in found]


def text_of(tokens: list[int]) -> str:
    """What these tokens say."""
    return courier()[1].decode(tokens, skip_special_tokens=True)


@contextmanager
def courier_server(settings: Settings | None = None, blocks: int = 1024, **options: Any) -> Iterator[Running]:
    """A server of courier. When it has ended, its engine holds nothing and is sound."""
    model, tokenizer = courier()
    engine = Engine(model, blocks, **{"prefix": "hash", "checked": True, **options})
    with serving(engine, tokenizer, settings=settings) as server:
        yield server
    assert_nothing_is_left(server)


def assert_nothing_is_left(server: Running) -> None:
    """All blocks are free, nobody waits, and every invariant holds."""
    engine = server.service.engine
    engine.check()
    server.service.gate.check()
    assert not engine.has_work and engine.manager.pool.num_free == engine.num_blocks
    assert server.service.gate.waiting == 0


def client(server: Running, key: str = "none", **options: Any) -> OpenAI:
    """The official client, which does not try again."""
    return OpenAI(base_url=server.base_url, api_key=key, **{"max_retries": 0, "timeout": 60.0, **options})


def until(true: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait until something is so."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come to be"
        time.sleep(0.01)


def post(server: Running, path: str, body: bytes, **headers: str) -> tuple[int, dict[str, Any], dict[str, str]]:
    """Status, JSON and headers of a request with any body."""
    kinds = {"Content-Type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
    request = urllib.request.Request(f"{server.url}{path}", data=body, headers=kinds, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.loads(answer.read()), dict(answer.headers)
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read()), dict(error.headers)


def connect(server: Running) -> socket.socket:
    """A bare connection."""
    host, _, port = server.url.removeprefix("http://").rpartition(":")
    return socket.create_connection((host, int(port)), timeout=20)


def rest(connection: socket.socket) -> bytes:
    """What comes on a connection until it is closed by the server."""
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts)


def holder(server: Running, tokens: int = 1500) -> tuple[OpenAI, object]:
    """A stream that keeps the only seat for a while, and has begun."""
    ask = client(server)
    options = dict(model="courier", prompt="Where is", max_tokens=tokens, temperature=0, stream=True)  # it never ends
    stream = ask.completions.create(**options)
    next(stream)
    return ask, stream
