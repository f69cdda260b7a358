"""A client that ends its side of the connection has gone: one rule for whole answers and streams. No block is kept."""

from __future__ import annotations

import json
import socket
import time

import pytest

from kvlab.serve.http import Running
from tests.serve.serving import connect, courier_server, rest, until


@pytest.fixture
def server():
    with courier_server() as running:
        yield running


def request(*, new: int = 1500, stream: bool = False) -> bytes:
    """A completion that runs for a while."""
    body = {"model": "courier", "prompt": "Where is", "max_tokens": new, "temperature": 0, "stream": stream}
    data = json.dumps(body).encode()
    lines = ["POST /v1/completions HTTP/1.1", "Host: x", "Content-Type: application/json"]
    return "\r\n".join([*lines, f"Content-Length: {len(data)}", "", ""]).encode() + data


def half_closed(server: Running, sent: bytes, begun: bool = False) -> bytes:
    """All that a client hears who sends this, and then no more; begun: once it has heard the first of the answer."""
    with connect(server) as connection:
        connection.sendall(sent)
        first = connection.recv(4096) if begun else b""
        connection.shutdown(socket.SHUT_WR)
        began = time.monotonic()
        heard = first + rest(connection)
        assert time.monotonic() - began < 5  # at once, and not when the answer would have ended
    until(lambda: nothing_is_left(server))
    return heard


def nothing_is_left(server: Running) -> bool:
    """Nobody waits or runs, and all blocks are free. The invariants are walked when the server has ended."""
    engine = server.service.engine
    return not (engine.has_work or server.service.gate.waiting) and engine.manager.pool.num_free == engine.num_blocks


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_half_closes_before_its_answer_is_told_why_it_gets_none(server: Running, stream: bool) -> None:
    head, _, body = half_closed(server, request(stream=stream)).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ") and b"Connection: close" in head
    assert "keep it open until the answer has come" in json.loads(body)["error"]["message"]


def test_a_client_that_half_closes_while_the_engine_computes_frees_its_blocks(server: Running) -> None:
    engine = server.service.engine
    with connect(server) as connection:
        connection.sendall(request())
        until(lambda: engine.has_work)
        connection.shutdown(socket.SHUT_WR)
        assert rest(connection).startswith(b"HTTP/1.1 400 ")
    until(lambda: engine.stats().aborted == 1 and nothing_is_left(server))


def test_a_stream_whose_client_half_closes_is_cut_and_cannot_be_taken_for_whole(server: Running) -> None:
    heard = half_closed(server, request(stream=True), begun=True)
    assert heard.startswith(b"HTTP/1.1 200 OK") and b"data: {" in heard
    assert b"[DONE]" not in heard and not heard.endswith(b"\r\n0\r\n\r\n") and heard.count(b"HTTP/1.1") == 1


def test_a_body_that_ends_before_its_length_is_refused_and_half_a_head_is_closed(server: Running) -> None:
    assert half_closed(server, request()[:-10]).startswith(b"HTTP/1.1 400 ")
    assert half_closed(server, request()[:20]) == b""


def test_what_is_answered_already_stays_answered_and_is_said_once(server: Running) -> None:
    heard = half_closed(server, b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n", begun=True)
    assert heard.startswith(b"HTTP/1.1 200 OK") and heard.count(b"HTTP/1.1") == 1
