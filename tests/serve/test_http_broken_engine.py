"""An engine that fails behind a server: once, again and again, or with an invariant broken."""

from __future__ import annotations

import httpx
import pytest
from openai import APIError, InternalServerError

from kvlab.errors import InvariantBroken
from tests.serve.serving import QUESTIONS, alone, chat, client, courier_server, holder, text_of


def fail_at(engine: object, times: int, error: Exception) -> None:
    """Let the engine's next `times` forward passes raise."""
    forward, left = engine.paged.forward, [times]

    def stumble(batch: object) -> object:
        if left[0]:
            left[0] -= 1
            raise error
        return forward(batch)

    engine.paged.forward = stumble


def test_an_engine_that_fails_once_ends_what_ran_with_500_and_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    with courier_server() as server:
        _, stream = holder(server)
        fail_at(server.service.engine, 1, RuntimeError("a secret of the machine"))
        with pytest.raises(APIError, match="The engine failed \\(RuntimeError\\) and gave this request up") as found:
            list(stream)
        assert "secret" not in str(found.value) and "secret" in caplog.text
        fail_at(server.service.engine, 1, RuntimeError("again"))
        with pytest.raises(InternalServerError, match="gave this request up"):
            client(server).completions.create(model="courier", prompt="Where is")
        assert httpx.get(f"{server.url}/health").status_code == 200
        found = client(server).chat.completions.create(
            model="courier", messages=chat(QUESTIONS[0]), temperature=0, max_tokens=16
        )
        assert found.choices[0].message.content == text_of(alone(QUESTIONS[0], 16)[0])


def test_an_engine_that_goes_on_failing_is_said_to_be_unhealthy() -> None:
    with courier_server() as server:
        fail_at(server.service.engine, 100, RuntimeError("broken"))
        for _ in range(3):
            with pytest.raises(InternalServerError, match="gave this request up"):
                client(server).completions.create(model="courier", prompt="Where is")
        with pytest.raises(InternalServerError, match="cannot be relied on: restart the server") as found:
            client(server).completions.create(model="courier", prompt="Where is")
        assert found.value.status_code == 503
        health = httpx.get(f"{server.url}/health")
        assert health.status_code == 503 and health.json()["status"] == "unhealthy"


def test_a_broken_invariant_is_not_served_on() -> None:
    with courier_server() as server:
        pool = server.service.engine.manager.pool
        (lost,) = pool.take(1)  # a block that no table names
        with pytest.raises(InternalServerError, match="InvariantBroken"):
            client(server).completions.create(model="courier", prompt="Where is", temperature=0)
        assert httpx.get(f"{server.url}/health").status_code == 503
        pool.release([lost])


def test_an_invariant_that_breaks_when_a_request_begins_is_no_fault_of_the_request() -> None:
    def broken(*_: object, **__: object) -> object:
        raise InvariantBroken("I7", "a prompt was found whole")

    with courier_server() as server:
        server.service.engine.submit = broken
        with pytest.raises(InternalServerError, match="InvariantBroken"):
            client(server).completions.create(model="courier", prompt="Where is", temperature=0)
        assert httpx.get(f"{server.url}/health").status_code == 503


def test_an_invariant_that_breaks_when_an_answer_is_ended_is_no_fault_of_its_text() -> None:
    def broken(*_: object) -> None:
        raise InvariantBroken("I2", "a block has more names than holders")

    with courier_server() as server:
        server.service.engine.stop = broken
        with pytest.raises(InternalServerError, match="InvariantBroken"):
            client(server).completions.create(model="courier", prompt="Where is", temperature=0)
        assert httpx.get(f"{server.url}/health").status_code == 503
