"""Hundreds of clients at once, some of which go away: nothing leaks, and whoever stays hears what one alone would."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from openai import AsyncOpenAI

from kvlab.serve import Sampling
from kvlab.serve.http import Running
from tests.serve.serving import QUESTIONS, alone, assert_nothing_is_left, chat, connect, courier_server, text_of, until

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
