"""One request that the engine serves: its answer sent whole or as a stream, and its blocks freed if its client goes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from .answer import Piece
from .gate import Gate
from .refusals import Refusal
from .shapes import Shape
from .ticket import Ticket
from .worker import Worker

EVENTS = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-cache")]
DONE = b"data: [DONE]\n\n"


@dataclass
class Exchange:
    """An ASGI response. stream, include_usage: as the client asked. choices: how many there are."""

    worker: Worker
    gate: Gate
    ticket: Ticket
    shape: Shape
    choices: int
    stream: bool
    include_usage: bool

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve until all is sent, or the client has gone; either way the engine is left with nothing of it."""
        self._started = False
        work = asyncio.create_task(self._work(scope, receive, send))
        gone = asyncio.create_task(_until_gone(receive))
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                work.result()
        except asyncio.CancelledError:  # the server's patience with running requests is over
            work.cancel()
            with suppress(asyncio.CancelledError):  # the loop itself may end meanwhile
                await asyncio.gather(work, return_exceptions=True)
                late = Refusal(503, "The server is shutting down.", code="shutting_down")
                await self._refuse(late, scope, receive, send)
        finally:
            self.worker.abort(self.ticket)
            work.cancel()
            gone.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.gather(work, gone, return_exceptions=True)

    async def _work(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            pieces = self._pieces()
            if self.stream:
                await self._send_stream(pieces, send)
            else:
                found = await self._collect(pieces)
                self._started = True
                await JSONResponse(self.shape.whole(found))(scope, receive, send)
        except Refusal as refusal:
            await self._refuse(refusal, scope, receive, send)

    async def _pieces(self) -> AsyncIterator[Piece]:
        """What comes from the engine, once the gate lets the request in."""
        inbox = self.ticket.inbox
        since = await self.gate.enter(self.choices)
        try:
            self.worker.submit(self.ticket)
            item = await inbox.get()
        finally:
            self.gate.leave(self.choices, since)
        while item is not None:
            if isinstance(item, Refusal):
                raise item
            yield item
            item = await inbox.get()

    async def _collect(self, pieces: AsyncIterator[Piece]) -> list[Piece]:
        """Every choice in one piece."""
        texts: list[list[str]] = [[] for _ in range(self.choices)]
        found = [Piece(index, "", [], None, 0) for index in range(self.choices)]
        async for piece in pieces:
            texts[piece.choice].append(piece.text)
            scored = found[piece.choice].scored
            scored += piece.scored
            found[piece.choice] = piece._replace(scored=scored)
        return [piece._replace(text="".join(parts)) for piece, parts in zip(found, texts, strict=True)]

    async def _send_stream(self, pieces: AsyncIterator[Piece], send: Send) -> None:
        last = [Piece(index, "", [], None, 0) for index in range(self.choices)]
        async for piece in pieces:
            if not self._started:  # only now is it known that the engine took the request
                self._started = True
                await send({"type": "http.response.start", "status": 200, "headers": EVENTS})
                for chunk in self.shape.opening(self.choices):
                    await self._event(chunk, send)
            last[piece.choice] = piece
            await self._event(self.shape.chunk(piece), send)
        if self.include_usage:
            await self._send(_line(self.shape.closing(last)), send)
        await self._send(DONE, send, more=False)

    async def _event(self, chunk: dict[str, Any], send: Send) -> None:
        if self.include_usage:
            chunk["usage"] = None
        await self._send(_line(chunk), send)

    async def _send(self, body: bytes, send: Send, more: bool = True) -> None:
        await send({"type": "http.response.body", "body": body, "more_body": more})

    async def _refuse(self, refusal: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
        """As the answer if none has begun, else as the last event of its stream."""
        if not self._started:
            self._started = True
            await JSONResponse(refusal.body, refusal.status, refusal.headers)(scope, receive, send)
        elif self.stream:
            await self._send(_line(refusal.body), send, more=False)


def _line(data: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode() + b"\n\n"


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
