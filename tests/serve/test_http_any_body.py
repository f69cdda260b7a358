"""Random bodies, plausible and wild: the server answers or refuses, and never fails."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kvlab.serve.http import Running
from tests.serve import limited
from tests.serve.limited import CHATS, COMPLETIONS, KEY

server = limited.server  # the fixture: with a key and small limits


@pytest.fixture(scope="module")
def http(server: Running) -> Iterator[httpx.Client]:
    headers = {b"Content-Type": b"application/json", b"Authorization": f"Bearer {KEY}".encode()}
    with httpx.Client(headers=headers, timeout=60, trust_env=False) as found:
        yield found


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
