"""One client's connection, with the limits that an ASGI application cannot set: how many, how slow, how unread."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from .refusals import Refusal
from .settings import Settings

LINGER = 1.0  # seconds in which a refused client may read why


def limited(settings: Settings) -> type[H11Protocol]:
    """The protocol of a server's connections, for uvicorn."""
    return type("LimitedConnection", (Connection,), {"settings": settings})


class Connection(H11Protocol):
    """HTTP/1.1 on one connection.

    One more than `max_connections` is answered with 503 and closed; one that takes longer than `header_seconds` to send
    a request's first lines, or the rest of a body that was not waited for, is closed; one that leaves what it is sent
    unread for `send_seconds` is cut off. One whose client ends its own side has lost its client, as nothing tells
    a client that still reads from one that is gone: a request under way is dropped, and a stream cut.
    """

    settings = Settings()
    _slow: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None
    _turned_away = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Serve it, or turn it away if there are too many."""
        super().connection_made(transport)
        if len(self.connections) > self.settings.max_connections:
            self._turn_away()
        else:
            self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for any more."""
        self._cancel("_slow")
        self._cancel("_unread")
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, and see whether a request has begun."""
        if not self._turned_away:
            super().data_received(data)
            self._watch()

    def eof_received(self) -> None:
        """Nothing more comes from the client: whatever it waits for is dropped, and the connection closed.

        Should it still read, it is told why; of a stream that has begun, the missing end says so.
        """
        cycle = self.cycle
        if cycle is not None and not cycle.response_started:
            sentence = "The connection was closed on the client's side: keep it open until the answer has come."
            self._write(Refusal(400, sentence))
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True  # before another byte goes out

    def pause_writing(self) -> None:
        """The client does not read what it is sent: not for ever."""
        super().pause_writing()
        if self._unread is None and self.settings.send_seconds:
            self._unread = self.loop.call_later(self.settings.send_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """It reads again."""
        self._cancel("_unread")
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP is told so as other requests are."""
        if self.conn.our_state is h11.SEND_RESPONSE or self.conn.our_state is h11.IDLE:
            self._write(Refusal(400, "This is no HTTP request that can be read."))
        self.transport.close()

    def _watch(self) -> None:
        """A connection that has said nothing yet, or only half of its first lines, is given so much time.

        So is one that goes on with a body after it was answered: each byte would hold its place for longer.
        """
        answered = self.conn.our_state is h11.DONE and self.conn.their_state is h11.SEND_BODY
        if self.conn.their_state is not h11.IDLE and not answered:
            self._cancel("_slow")
        elif self._slow is None and self.settings.header_seconds:
            self._slow = self.loop.call_later(self.settings.header_seconds, self.transport.close)

    def _turn_away(self) -> None:
        self._turned_away = True
        self.connections.discard(self)
        most = self.settings.max_connections
        sentence = f"This server has {most} connections, as many as it takes. Come again later."
        self._write(Refusal(503, sentence, code="overloaded", retry_after=1))
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.loop.call_later(LINGER, self.transport.close)

    def _write(self, refusal: Refusal) -> None:
        body = json.dumps(refusal.body).encode()
        headers: dict[str, Any] = {"Content-Type": "application/json", "Content-Length": len(body)} | refusal.headers
        lines = [f"HTTP/1.1 {refusal.status} {'Bad Request' if refusal.status == 400 else 'Service Unavailable'}"]
        lines += [f"{name}: {value}" for name, value in headers.items()] + ["Connection: close", "", ""]
        self.transport.write("\r\n".join(lines).encode() + body)

    def _cancel(self, timer: str) -> None:
        running: asyncio.TimerHandle | None = getattr(self, timer)
        if running is not None:
            running.cancel()
        setattr(self, timer, None)
