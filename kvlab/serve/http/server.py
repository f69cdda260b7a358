"""The server itself: a socket, uvicorn on it, and how to have one in the background."""

from __future__ import annotations

import ipaddress
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EADDRINUSE

import uvicorn
from transformers import PreTrainedTokenizerBase

from kvlab.errors import KVLabError
from kvlab.serve.engine import Engine

from .app import Service, application
from .connection import limited
from .settings import Settings

LOOPBACK = "127.0.0.1"


class CannotListen(KVLabError):
    """The address is taken, or is none of this machine: the sentence says which."""


def listen(host: str = LOOPBACK, port: int = 0) -> socket.socket:
    """A listening socket; port 0 takes any that is free. `CannotListen` if it cannot be had."""
    if not 0 <= port < 2**16:
        raise CannotListen(f"ports go from 0 to 65535; there is no port {port}")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        found = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError, OverflowError) as error:
        raise CannotListen(f"{host!r}, port {port}, is no address to listen on: {error}") from None
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(1024)
    except OSError as error:
        found.close()
        taken = error.errno == EADDRINUSE
        reason = "is in use by another program" if taken else f"cannot be listened on: {error.strerror}"
        raise CannotListen(f"port {port} of {host} {reason}; choose another") from None
    return found


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what listens on `host`, a name or an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def url_of(listener: socket.socket) -> str:
    """The address that clients are given, without a path."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def server_for(service: Service) -> uvicorn.Server:
    """uvicorn around a service, with its limits; `run(sockets=[...])` serves until a signal, or `should_exit`."""
    config = uvicorn.Config(
        application(service),
        http=limited(service.settings),
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=service.settings.drain_seconds,  # type: ignore[arg-type]
    )
    return uvicorn.Server(config)


class Running:
    """A server in the background. url: its address; base_url: what an OpenAI client is given."""

    def __init__(self, service: Service, listener: socket.socket) -> None:
        self.service, self.url = service, url_of(listener)
        self.base_url = f"{self.url}/v1"
        self._server = server_for(service)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [listener]}, name="kvlab server", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Let running requests finish, for `drain_seconds` at most, and end. To say so twice changes nothing."""
        self._server.should_exit = True
        self._thread.join()


@contextmanager
def serving(
    engine: Engine,
    tokenizer: PreTrainedTokenizerBase,
    model: str = "courier",
    *,
    settings: Settings | None = None,
    port: int = 0,
) -> Iterator[Running]:
    """A server of `engine` on this machine's loopback, while the block runs; a notebook's way to have one.

    port: 0 takes any that is free. Until the end, the engine belongs to the server: nobody else may step it. The end
    waits for requests that still run, at most `settings.drain_seconds`.

        with serving(engine, tokenizer) as server:
            client = OpenAI(base_url=server.base_url, api_key="none")
    """
    running = Running(Service(engine, tokenizer, model, settings or Settings()), listen(LOOPBACK, port))
    try:
        yield running
    finally:
        running.stop()
