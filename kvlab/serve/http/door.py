"""What every request passes first: the API key, the counters, and the limits on its body."""

from __future__ import annotations

import asyncio
import hmac
from collections import Counter
from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .refusals import Refusal
from .settings import Settings

OPEN = {"/health"}  # needs no key
WITHOUT_ANSWER = 499  # what is counted of a request whose client went away before it was answered
DISCARDED = 4  # bodies of the largest size that are read and dropped, so that a client hears why it is refused


class Door:
    """ASGI middleware that asks for the key and counts requests. counts: answers by status."""

    def __init__(self, app: ASGIApp, settings: Settings, counts: Counter[int]) -> None:
        self.app, self.counts = app, counts
        self._key = settings.api_key.encode() if settings.api_key is not None else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it with 401."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status = WITHOUT_ANSWER

        async def counted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            if scope["path"] in OPEN or self._knows(Headers(scope=scope)):
                await self.app(scope, receive, counted)
            else:
                await refused(_wrong_key())(scope, receive, counted)
        finally:
            self.counts[status] += 1

    def _knows(self, headers: Mapping[str, str]) -> bool:
        if self._key is None:
            return True
        scheme, _, key = headers.get("authorization", "").partition(" ")
        given = key.strip().encode("latin-1")  # as it came
        return hmac.compare_digest(given, self._key) and scheme.lower() == "bearer"


def refused(refusal: Refusal) -> JSONResponse:
    """The answer that says so. Where a body may be left unread, the connection is closed after it."""
    headers = dict(refusal.headers)
    if refusal.status in (401, 408, 413, 415):
        headers["Connection"] = "close"
    return JSONResponse(refusal.body, refusal.status, headers)


async def read_body(request: Request, settings: Settings) -> bytes:
    """The body of a request, if it is JSON, small enough, and there in time; else `Refusal` 415, 413 or 408."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refusal(415, "A request's body is JSON: send the header Content-Type: application/json.")
    try:
        async with asyncio.timeout(settings.body_seconds or None):
            return await _read(request, settings.max_body)
    except TimeoutError:
        sentence = f"The request's body was not there within {settings.body_seconds:g} seconds."
        raise Refusal(408, sentence) from None


async def _read(request: Request, most: int) -> bytes:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size <= most:
            parts.append(part)
        elif size > DISCARDED * most:
            break
        else:
            parts.clear()
    if size > most:
        raise Refusal(413, f"The request's body has more than {most} bytes, the most that this server reads.")
    return b"".join(parts)


def _wrong_key() -> Refusal:
    sentence = "This server asks for its API key: send the header Authorization: Bearer, and the key."
    return Refusal(401, sentence, code="invalid_api_key")
