"""What the server does not do is said in a sentence, with a status, in OpenAI's format; and clients keep to limits."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openai import AuthenticationError

from kvlab.errors import InvariantBroken, UsageError
from kvlab.serve import Engine
from kvlab.serve.http import Running, Service, Settings, listen
from tests.serve.serving import (
    QUESTIONS,
    alone,
    assert_nothing_is_left,
    chat,
    client,
    connect,
    courier,
    courier_server,
    post,
    rest,
    text_of,
    until,
)  # fmt: skip

COMPLETIONS, CHATS = "/v1/completions", "/v1/chat/completions"
KEY = "the-k\u00e9y"
LIMITS = Settings(
    api_key=KEY, max_body=20_000, max_choices=8, max_connections=12, body_seconds=1.0, header_seconds=1.0, max_tokens=64
)
BEARER = {"Authorization": f"Bearer {KEY}".encode().decode("latin-1")}


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with courier_server(LIMITS) as running:
        yield running


@pytest.fixture(scope="module")
def http(server: Running) -> Iterator[httpx.Client]:
    headers = {b"Content-Type": b"application/json", b"Authorization": f"Bearer {KEY}".encode()}
    with httpx.Client(headers=headers, timeout=60, trust_env=False) as found:
        yield found


def refused(server: Running, path: str, body: object, status: int) -> dict[str, str | None]:
    """The error that a body gets, which is in OpenAI's format and says something."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    found, answer, _ = post(server, path, data, **BEARER)
    assert found == status, answer
    error = answer["error"]
    assert set(error) == {"message", "type", "param", "code"} and error["message"].endswith(".")
    return error


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


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "system", "tool"]), "content": st.text(max_size=10) | ANYTHING}
)
NAMES = st.sampled_from(
    ["model", "prompt", "messages", "n", "seed", "stop", "stream", "stream_options", "temperature", "top_p", "top_k",
     "max_tokens", "max_completion_tokens", "logprobs", "top_logprobs", "echo", "best_of", "user", "tools", "suffix"]
)  # fmt: skip
PLAUSIBLE = st.fixed_dictionaries(
    {"model": st.just("courier")},
    optional={
        "prompt": st.text(min_size=1, max_size=20) | st.lists(st.integers(0, 1300), max_size=5) | ANYTHING,
        "n": st.integers(0, 9), "seed": st.integers(-(2**64), 2**64), "stop": st.text(max_size=3) | ANYTHING,
        "temperature": st.floats(-1, 3), "top_p": st.floats(-0.5, 1.5), "top_k": st.integers(-1, 2000),
        "max_tokens": st.integers(-1, 6), "logprobs": st.integers(-1, 22) | st.booleans(), "echo": st.booleans(),
        "stream": st.booleans() | st.none(), "stream_options": ANYTHING,
        "messages": st.lists(MESSAGE, max_size=3) | ANYTHING,
    },
)  # fmt: skip
BODIES = (
    st.dictionaries(NAMES, ANYTHING, max_size=6) | PLAUSIBLE
).map(lambda body: json.dumps(body).encode()) | st.binary(max_size=30)  # fmt: skip


@settings(max_examples=250, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(path=st.sampled_from([COMPLETIONS, CHATS]), body=BODIES)
def test_no_body_whatever_it_is_makes_the_server_fail(
    server: Running, http: httpx.Client, path: str, body: bytes
) -> None:
    answer = http.post(f"{server.url}{path}", content=body)
    assert answer.status_code in (200, 400, 404), answer.text
    if answer.status_code != 200:
        assert answer.json()["error"]["message"].endswith(".")
    else:
        assert '{"error":' not in answer.text  # nor does a stream end in one
