"""Hundreds of clients at once, some of which go away: nothing leaks, and whoever stays hears what one alone would."""

from __future__ import annotations

import asyncio
import json
import random
import threading
import time
from collections.abc import Iterator
from typing import NamedTuple

import httpx
import pytest
from openai import APIError, AsyncOpenAI, InternalServerError, OpenAI, RateLimitError

from kvlab.errors import InvariantBroken
from kvlab.serve import Sampling
from kvlab.serve.http import Running, Settings
from kvlab.serve.http.gate import Gate
from tests.serve.serving import (
    QUESTIONS,
    alone,
    assert_nothing_is_left,
    chat,
    client,
    connect,
    courier_server,
    text_of,
    until,
)  # fmt: skip

STREAMS, NEW = 256, 16


class Case(NamedTuple):
    """A client: what it asks, with which seed (None: greedily), and after how many chunks it goes away, if it does."""

    question: str
    seed: int | None
    leaves_after: int | None

    @property
    def expected(self) -> str:
        sampling = None if self.seed is None else Sampling(1.0, seed=self.seed)
        return text_of(alone(self.question, NEW, sampling)[0])


def cases(seed: int) -> list[Case]:
    """`STREAMS` clients of 24 kinds, a third of which go away at some time."""
    draw = random.Random(seed)
    return [
        Case(
            draw.choice(QUESTIONS),
            draw.choice((None, 1, 2)),
            draw.randrange(0, 12) if draw.random() < 1 / 3 else None,
        )
        for _ in range(STREAMS)
    ]


async def streamed(ask: AsyncOpenAI, case: Case) -> str | None:
    """What a client hears; None if it went away before the end."""
    options = {"temperature": 0.0} if case.seed is None else {"temperature": 1.0, "seed": case.seed}
    stream = await ask.chat.completions.create(
        model="courier", messages=chat(case.question), max_tokens=NEW, stream=True, **options
    )
    said, count = "", 0
    async with stream:
        async for chunk in stream:
            if case.leaves_after is not None and count >= case.leaves_after:
                return None
            said += chunk.choices[0].delta.content or ""
            count += 1
    return said


async def all_at_once(server: Running, everybody: list[Case]) -> list[str | None]:
    async with AsyncOpenAI(base_url=server.base_url, api_key="none", max_retries=0, timeout=120) as ask:
        return await asyncio.gather(*(streamed(ask, case) for case in everybody))


@pytest.mark.parametrize(("blocks", "options"), [(2400, {}), (40, {"max_running": 96})])
def test_256_streams_at_once_some_cut_off_leak_nothing_and_say_what_each_would_alone(
    blocks: int, options: dict[str, int]
) -> None:
    everybody = cases(blocks)
    expected = [case.expected for case in everybody]
    with courier_server(blocks=blocks, **options) as server:
        found = asyncio.run(all_at_once(server, everybody))
        until(lambda: not server.service.engine.has_work)
        stats = server.service.engine.stats()
    whole = [(said, right) for said, right in zip(found, expected, strict=True) if said is not None]
    assert len(whole) > STREAMS / 2 and all(said == right for said, right in whole)
    assert stats.finished + stats.aborted == STREAMS and stats.aborted > 10
    if blocks < 1000:
        assert stats.preemptions > 0  # memory was short, and nobody noticed


@pytest.fixture
def gone() -> Iterator[Running]:
    with courier_server() as running:
        yield running


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_goes_away_frees_its_blocks_whole_or_streamed(gone: Running, stream: bool) -> None:
    body = {"model": "courier", "prompt": ["Where is"] * 4, "n": 4, "max_tokens": 1500, "stream": stream}
    body |= {"temperature": 0.3, "seed": 3}
    data = json.dumps(body).encode()
    engine = gone.service.engine
    with connect(gone) as connection:
        connection.sendall(
            b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            + f"Content-Length: {len(data)}\r\n\r\n".encode() + data
        )  # fmt: skip
        until(lambda: engine.generated_tokens > 20)
        assert engine.has_work
    until(lambda: not engine.has_work)
    assert engine.stats().aborted >= 4 and engine.generated_tokens < 16 * 1500
    assert_nothing_is_left(gone)


def holder(server: Running, tokens: int = 1500) -> tuple[OpenAI, object]:
    """A stream that keeps the only seat for a while, and has begun."""
    ask = client(server)
    options = dict(model="courier", prompt="Where is", max_tokens=tokens, temperature=0, stream=True)  # it never ends
    stream = ask.completions.create(**options)
    next(stream)
    return ask, stream


def test_overload_is_refused_with_429_and_when_to_come_again() -> None:
    with courier_server(Settings(max_queue=2), max_running=1) as server:
        _, stream = holder(server)
        waiting = [threading.Thread(target=short, args=(server, [])) for _ in range(2)]
        for thread in waiting:
            thread.start()
        until(lambda: server.service.gate.waiting == 2)
        with pytest.raises(RateLimitError, match="2 sequences wait for their first token, and at most 2 may") as found:
            client(server).completions.create(model="courier", prompt="Where is")
        assert 1 <= int(found.value.response.headers["retry-after"]) <= 60 and found.value.code == "overloaded"
        stream.close()
        for thread in waiting:
            thread.join()
        assert server.service.gate.refused == 1 and client(server).models.list()


def short(server: Running, said: list[str | int], **options: object) -> None:
    """A short answer, or the status with which it was refused."""
    try:
        answer = client(server).completions.create(
            model="courier", prompt="Where is", max_tokens=2, temperature=0, **options
        )
        said.append(answer.choices[0].text)
    except APIError as error:
        said.append(error.status_code)


def test_overload_waits_if_it_may_and_is_refused_when_it_has_waited_too_long() -> None:
    with courier_server(Settings(max_queue=1, max_wait=30), max_running=1) as server:
        _, stream = holder(server)
        said: list[str | int] = []
        waiting = [threading.Thread(target=short, args=(server, said)) for _ in range(4)]
        for thread in waiting:
            thread.start()
        until(lambda: len(server.service.gate._before) == 3)
        assert server.service.gate.waiting == 1 and not said
        stream.close()
        for thread in waiting:
            thread.join()
        assert len(said) == 4 and len(set(said)) == 1 and isinstance(said[0], str)
    with courier_server(Settings(max_queue=1, max_wait=0.2), max_running=1) as server:
        _, stream = holder(server)
        first = threading.Thread(target=short, args=(server, []))
        first.start()
        until(lambda: server.service.gate.waiting == 1)
        said = []
        short(server, said)
        assert said == [429]
        stream.close()
        first.join()


def test_who_waits_before_the_gate_and_goes_away_leaves_no_place_behind() -> None:
    with courier_server(Settings(max_queue=1, max_wait=30), max_running=1) as server:
        _, stream = holder(server)
        first = threading.Thread(target=short, args=(server, []))
        first.start()
        until(lambda: server.service.gate.waiting == 1)
        with pytest.raises(APIError):
            client(server, timeout=0.3).completions.create(model="courier", prompt="Where is")
        until(lambda: not server.service.gate._before)
        stream.close()
        first.join()


@pytest.mark.parametrize("turns", range(6))
def test_who_goes_away_while_it_is_let_in_is_not_served_and_others_get_its_place(turns: int) -> None:
    async def gone_meanwhile() -> None:
        gate, there = Gate(1, max_wait=30), asyncio.Event()

        async def client() -> None:
            since = await gate.enter(1)
            try:
                await there.wait()
            finally:
                gate.leave(1, since)

        since = await gate.enter(1)
        leaver, other = asyncio.create_task(client()), asyncio.create_task(client())
        await asyncio.sleep(0)
        gate.leave(1, since)
        for _ in range(turns):
            await asyncio.sleep(0)
        leaver.cancel()
        done, _ = await asyncio.wait([leaver], timeout=1)
        assert done and leaver.cancelled() and gate.waiting == 1
        gate.check()
        there.set()
        await other
        assert gate.waiting == 0

    asyncio.run(gone_meanwhile())


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
            model="courier", messages=chat(QUESTIONS[0]), temperature=0, max_tokens=NEW
        )
        assert found.choices[0].message.content == Case(QUESTIONS[0], None, None).expected


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


@pytest.mark.parametrize(("drain", "whole"), [(30.0, True), (0.0, False)])
def test_a_stop_lets_running_requests_finish_or_ends_them(drain: float, whole: bool) -> None:
    with courier_server(Settings(drain_seconds=drain)) as server:
        _, stream = holder(server, tokens=300)
        began = time.monotonic()
        stopping = threading.Thread(target=server.stop)
        stopping.start()
        if whole:
            assert [chunk.choices[0].finish_reason for chunk in stream][-1] in ("length", "stop")
        else:
            with pytest.raises(APIError, match="shutting down"):
                list(stream)
        stopping.join()
        assert time.monotonic() - began < 25
        with pytest.raises(OSError):
            connect(server)
