"""Messages on a socket: JSON with its length before it."""

from __future__ import annotations

import json
import os
import socket
import struct
from typing import Any, NoReturn

MOST = 32 << 20  # bytes of one message


def receive(pipe: socket.socket) -> Any:
    """The next message, or None at the end."""
    data = b""
    while len(data) < 4 or len(data) < 4 + struct.unpack("<I", data[:4])[0]:
        piece = pipe.recv(1 << 20 if len(data) >= 4 else 4)
        if not piece:
            return None
        data += piece
    return json.loads(data[4:])


def send(pipe: socket.socket, message: Any) -> None:
    """Sends one message."""
    data = json.dumps(message).encode()
    if len(data) > MOST:
        data = json.dumps({"ended": f"sent back {len(data) >> 20} MB, more than the {MOST >> 20} MB that are allowed"}
                          ).encode()
    pipe.sendall(struct.pack("<I", len(data)) + data)


def ended(pipe: socket.socket, why: str) -> NoReturn:
    """Says why this process ends, and ends it."""
    send(pipe, {"ended": why})
    os._exit(1)
