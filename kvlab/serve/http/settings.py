"""What a server allows, and how long it waits."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from kvlab.errors import UsageError

ONE_MINUTE = 60.0


@dataclass(frozen=True)
class Settings:
    """A server's limits. Counts are at least 1 (max_queue: 0 or more), times are seconds from 0 on, else `UsageError`.

    api_key: what clients must send, None for nobody. max_queue: sequences that wait for their first token; a request
    that would make it more waits up to max_wait for a place, and is then refused with 429. What comes when nobody
    waits is always taken. max_tokens: new tokens that one answer may ask for. max_choices: answers of one request, to
    all its prompts. max_body: bytes of a request's body, which must be there within body_seconds. max_connections: of
    all clients together; header_seconds: until a connection has sent a request's first lines. send_seconds: how long a
    client may leave what it is sent unread. drain_seconds: how long running requests may go on after a stop is asked
    for; then they are ended.
    """

    api_key: str | None = None
    max_queue: int = 512
    max_wait: float = 0.0
    max_tokens: int = 4096
    max_choices: int = 128
    max_body: int = 2**20
    max_connections: int = 1024
    body_seconds: float = 30.0
    header_seconds: float = 30.0
    send_seconds: float = ONE_MINUTE
    drain_seconds: float = 30.0

    def __post_init__(self) -> None:
        least = {"max_queue": 0, "max_tokens": 1, "max_choices": 1, "max_body": 1, "max_connections": 1}
        for name, low in least.items():
            if getattr(self, name) < low:
                raise UsageError(f"{name} is at least {low}, not {getattr(self, name)}")
        for name in ("max_wait", "body_seconds", "header_seconds", "send_seconds", "drain_seconds"):
            seconds = getattr(self, name)
            if not (isfinite(seconds) and seconds >= 0):
                raise UsageError(f"{name} is a number of seconds from 0 on, not {seconds}")
        if self.api_key == "":
            raise UsageError("an API key has at least 1 character; without one, give None")
