"""Bytes on a connection, for what no client library would send."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from clients.serving import PATIENCE, Served


@contextmanager
def connected(served: Served, number: int = 1) -> Iterator[list[socket.socket]]:
    """Connections to the server."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE))
            for _ in range(number)
        ]


def status(served: Served, *parts: bytes) -> int:
    """The status of what comes in answer to these bytes; 0: the server closes the connection without an answer."""
    with connected(served) as (connection,):
        with suppress(ConnectionError):  # it may close before all is sent; what it has said can still be read
            for part in parts:
                connection.sendall(part)
        return read_status(connection)


def read_status(connection: socket.socket) -> int:
    """The status of an answer; 0: there is none."""
    try:
        line = connection.recv(4096)
    except ConnectionError:
        return 0
    return int(line.split()[1]) if line else 0


def head(path: str, length: int | None, *lines: str) -> bytes:
    """The head of a POST request."""
    announced = () if length is None else (f"Content-Length: {length}",)
    return "\r\n".join((f"POST {path} HTTP/1.1", "Host: x", *announced, *lines, "", "")).encode("latin-1")


def post(path: str, body: Any) -> bytes:
    """A POST request of a JSON value, or of bytes as they are."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return head(path, len(content)) + content
