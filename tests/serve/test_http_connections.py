"""Clients keep to limits: long and slow bodies, half a line, garbage, too many connections, nobody who reads."""

from __future__ import annotations

import json
import socket

import httpx
import pytest

from kvlab.serve import Engine
from kvlab.serve.http import Running, Service, Settings, listen
from tests.serve import limited
from tests.serve.limited import COMPLETIONS, KEY, LIMITS, refused
from tests.serve.serving import (
    QUESTIONS,
    alone,
    assert_nothing_is_left,
    chat,
    client,
    connect,
    courier,
    rest,
    text_of,
    until,
)  # fmt: skip

server = limited.server  # the fixture: with a key and small limits


def test_a_body_over_the_limit_is_refused_announced_or_not(server: Running) -> None:
    body = json.dumps({"model": "courier", "prompt": "x" * 20_000}).encode()
    assert "more than 20000 bytes" in str(refused(server, COMPLETIONS, body, 413)["message"])
    head = head_of("Transfer-Encoding: chunked")
    with connect(server) as connection:
        chunk = b"1000\r\n" + b" " * 4096 + b"\r\n"
        connection.sendall(head + chunk * 6 + b"0\r\n\r\n")
        assert b" 413 " in rest(connection)
    exactly = json.dumps({"model": "courier", "prompt": ""}).encode().ljust(20_000)
    assert "no token" in str(refused(server, COMPLETIONS, exactly, 400)["message"])


def head_of(*lines: str, path: str = COMPLETIONS) -> bytes:
    """The first lines of a request with the key."""
    first = [f"POST {path} HTTP/1.1", "Host: here", "Content-Type: application/json", *lines]
    return "\r\n".join(first).encode() + b"\r\nAuthorization: Bearer " + KEY.encode() + b"\r\n\r\n"


def test_a_slow_body_is_given_up_with_a_sentence(server: Running) -> None:
    with connect(server) as connection:
        connection.sendall(head_of("Content-Length: 100") + b'{"model"')
        answer = rest(connection)
    assert b" 408 " in answer and b"not there within 1 seconds" in answer


def test_a_connection_that_says_nothing_or_half_a_line_is_closed(server: Running) -> None:
    for begin in (b"", b"POST /v1/comp", b"GET /health HTTP/1.1\r\nHost: x\r\n"):
        with connect(server) as connection:
            connection.sendall(begin)
            assert rest(connection) == b""
    with connect(server) as connection:  # nor may one drip after it has been served
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"200 OK" in connection.recv(65536)
        connection.sendall(b"GET /hea")
        assert b"HTTP" not in rest(connection)


def test_a_body_that_nobody_reads_holds_a_connection_no_longer_than_a_slow_head(server: Running) -> None:
    with connect(server) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n")
        assert b"200 OK" in connection.recv(65536)
        connection.settimeout(0.1)
        for _ in range(200):  # a byte at a time, so that it is never idle
            try:
                connection.sendall(b"x")
                if not connection.recv(65536):
                    break
            except TimeoutError:
                continue
            except ConnectionError:
                break
        else:
            pytest.fail("it was never closed")


def test_garbage_is_told_that_it_is_no_http(server: Running) -> None:
    for garbage in (b"\x16\x03\x01\x02\x00\x01\xfc\x03\x03\r\n\r\n", b"hello\r\n\r\n", b"GET\x00 / HTTP/1.1\r\n\r\n"):
        with connect(server) as connection:
            connection.sendall(garbage)
            assert b" 400 " in (answer := rest(connection)) and b"no HTTP request" in answer
    with connect(server) as connection:
        connection.sendall(head_of("Content-Length: 5") + b'{"mod' + b"garbage\r\n\r\n")
        assert rest(connection).count(b" 400 ") >= 1
    assert httpx.get(f"{server.url}/health").status_code == 200


def test_one_connection_too_many_is_turned_away_and_others_are_served(server: Running) -> None:
    with connect(server) as first:
        first.sendall(head_of("Content-Length: 100"))  # it is being served, for a second
        held = [connect(server) for _ in range(LIMITS.max_connections - 1)]
        with connect(server) as late:
            late.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            answer = rest(late)
        assert b" 503 " in answer and b"12 connections" in answer and b"Retry-After: 1" in answer
        held[0].sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert b"200 OK" in rest(held[0])
        for connection in held:
            connection.close()
    until(lambda: httpx.get(f"{server.url}/health").status_code == 200)  # their places are given back


def test_a_client_that_does_not_read_is_cut_off_and_frees_its_blocks() -> None:
    model, tokenizer = courier()
    engine = Engine(model, 512, prefix="hash")
    listener = listen()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)  # the system keeps little of it
    server = Running(Service(engine, tokenizer, "courier", Settings(send_seconds=0.3)), listener)
    body = {"model": "courier", "prompt": ["Where is"] * 8, "max_tokens": 500, "temperature": 0}
    data = json.dumps(body | {"stream": True, "logprobs": 20}).encode()
    try:
        with connect(server) as connection:
            head = "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            connection.sendall(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)
            until(lambda: engine.generated_tokens > 8)
            until(lambda: not engine.has_work)
            assert b"[DONE]" not in all_of(connection) and engine.stats().aborted
        found = client(server).chat.completions.create(
            model="courier", messages=chat(QUESTIONS[0]), temperature=0, max_tokens=8
        )
        assert found.choices[0].message.content == text_of(alone(QUESTIONS[0], 8)[0])
    finally:
        server.stop()
    assert_nothing_is_left(server)


def all_of(connection: socket.socket) -> bytes:
    """What comes until the connection is over, however it ends."""
    parts: list[bytes] = []
    try:
        while part := connection.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)
