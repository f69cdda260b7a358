"""A server that OpenAI's clients can use: completions and chat completions on an engine, over HTTP.

`app` is the application, `worker` the thread that steps the engine, `exchange` one request on its way, and `ticket`
what both know of it; `schema`, `parsing` and `shapes` are OpenAI's format, `gate`, `door` and `connection` the limits,
and `server` puts it on a socket. It needs the extra `serve`.
"""

from __future__ import annotations

from .app import Service, application
from .refusals import Refusal
from .server import CannotListen, Running, is_loopback, listen, server_for, serving, url_of
from .settings import Settings

__all__ = [
    "CannotListen",
    "Refusal",
    "Running",
    "Service",
    "Settings",
    "application",
    "is_loopback",
    "listen",
    "server_for",
    "serving",
    "url_of",
]
