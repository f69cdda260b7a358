"""More clients than may wait or run: told when to come again, or kept before the gate; and a stop with some inside."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest
from openai import APIError, RateLimitError

from kvlab.serve.http import Running, Settings
from kvlab.serve.http.gate import Gate
from tests.serve.serving import client, connect, courier_server, holder, until


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
