"""The checks' end of the socket to a learner's process: what is asked there, and what comes back, as plain data.

Nothing that comes back is trusted: `wire` makes of it numbers, lists and tensors, and the check looks at those. What a
check sees with its own eyes while a part runs (torch's modes, the module `random`) is told by the other side and done
again here, so that it is seen; a process that lies about it gains nothing but that.
"""

from __future__ import annotations

import json
import mmap
import random
import socket
import struct
from collections.abc import Callable, Mapping
from typing import Any

from kvlab import errors
from kvlab.course.grade.far.pipes import MOST
from kvlab.course.grade.far.wire import SPECIAL, Opaque, Unreadable, Wire
from kvlab.memory import CachedBlock, RadixNode

ASKED = 100_000  # callbacks in one call
KINDS: dict[str, type] = {"RadixNode": RadixNode, "CachedBlock": CachedBlock}
ERRORS: dict[str, type] = {name: kind for name, kind in vars(errors).items() if isinstance(kind, type)}


class Stopped(Exception):
    """The learner's process is gone, or did what ends it; the text says which."""


class Connection:
    """The socket to a job. `services`: finished parts that the exercise may use, by name. Why a job stopped is written
    into memory that forks share, since the check that finds out runs in one."""

    def __init__(self, pipe: socket.socket, services: Mapping[str, Callable[..., Any]]) -> None:
        self.pipe, self.services = pipe, services
        self.special: tuple[str, ...] = ()
        self._why = mmap.mmap(-1, 1024)
        self.wire = Wire(0, KINDS, ERRORS, self._foreign, self._native)
        self._there: dict[int, Any] = {}

    @property
    def stopped(self) -> str:
        """Why the job stopped; empty while it has not."""
        return self._why[:].rstrip(b"\0").decode(errors="replace")

    def first(self) -> Any:
        """Waits until the part is defined. Raises what defining it raised, and `Stopped` if the job ended over it."""
        reply = self._receive()
        found = reply.get("special")
        self.special = tuple(name for name in SPECIAL if isinstance(found, list) and name in found)
        return self._result(reply)

    def ask(self, do: str, args: tuple[Any, ...] = (), named: Mapping[str, Any] | None = None, **more: Any) -> Any:
        """Does something over there and returns, or raises, what came of it; arguments are changed as it changes them.

        do: "call", "make", "method", "get" or "launch" (`far.server`); more: what that needs, and fresh: whether what
        travelled so far is forgotten. A job that has ended, or ends over it, is `Stopped`."""
        if self.stopped:
            raise Stopped(self.stopped)
        if more.get("fresh"):
            self.wire.clear()
            self._there.clear()
        self._send({"do": do, "given": self.wire.pack((list(args), dict(named or {})))} | more)
        for _ in range(ASKED):
            reply = self._receive()
            if "asks" not in reply:
                return self._result(reply)
            self._send(self._answer(reply))
        raise self._stop("asked for its arguments without end")

    def _result(self, reply: Any) -> Any:
        try:
            _done_again(reply)
            if "raised" in reply:
                error = self.wire.unpack(reply["raised"])
            else:
                return self.wire.unpack(reply["returned"]) if "returned" in reply else None
        except (Unreadable, KeyError, TypeError) as trouble:
            raise self._stop(f"sent back what cannot be read ({str(trouble)[:80]})") from None
        raise error if isinstance(error, Exception) else RuntimeError("raised something that is no exception")

    def _answer(self, reply: dict[str, Any]) -> dict[str, Any]:
        """What the other side asked for in the middle of a call: public names of an argument, or a helper."""
        try:
            asks, given = reply["asks"], self.wire.unpack(reply["given"])
            if "service" in asks:
                return {"returned": self.wire.pack(self.services[asks["service"]](*given))}
            owner, name = self._there[asks.get("get", asks.get("call"))], str(asks["name"])
            if name.startswith("_"):
                raise AttributeError(f"no attribute {name!r} within reach")
            found = getattr(owner, name)
            if "call" in asks:
                return {"returned": self.wire.pack(found(*given))}
            return {"returned": self.wire.pack(("method", None) if callable(found) else ("value", found))}
        except Exception as error:
            return {"raised": self.wire.pack(error)}

    def _foreign(self, value: Any) -> list[Any] | None:
        self._there[id(value)] = value
        return ["there", id(value)]

    def _native(self, text: list[Any]) -> Any:
        return self._there[text[1]] if text[0] == "there" else Opaque(str(text[0])[:40])

    def _stop(self, why: str) -> Stopped:
        if not self.stopped:
            data = why.encode()[:1000]
            self._why[: len(data)] = data
        return Stopped(self.stopped)

    def _send(self, message: dict[str, Any]) -> None:
        data = json.dumps(message).encode()
        try:
            self.pipe.sendall(struct.pack("<I", len(data)) + data)
        except OSError:
            raise self._stop("ended its process") from None

    def _receive(self) -> Any:
        try:
            size = struct.unpack("<I", self._exactly(4))[0]
            if size > MOST:
                raise self._stop(f"sent back {size >> 20} MB, more than the {MOST >> 20} MB that are allowed")
            message = json.loads(self._exactly(size))
        except (OSError, ValueError, RecursionError):
            raise self._stop("ended its process") from None
        if not isinstance(message, dict) or "ended" in message:
            raise self._stop(str(message["ended"])[:200] if isinstance(message, dict) else "sent back no answer")
        return message

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            piece = self.pipe.recv(min(size - len(data), 1 << 20))
            if not piece:
                raise OSError("closed")
            data += piece
        return bytes(data)


def _done_again(reply: dict[str, Any]) -> None:
    """Lets whoever watches this process see what the other one says that it did."""
    if reply.get("stirred"):
        random.random()
    if "made" in reply:
        import torch

        size = reply["made"][0]
        if 0 < size <= MOST:
            torch.empty(size)
        for large, small in reply["products"][:200]:
            if 0 < small <= large and large * small <= MOST:
                one, other = ((large // small, small), (small,)) if large % small == 0 else ((large, 1), (1, small))
                torch.empty(one) * torch.empty(other)
