"""Server-sent events, as engines send them: each has one line of data."""

from __future__ import annotations

from toolglot.backends.faults import ReplicaError

_MOST = 64 << 20
"""How many bytes a line may have; SGLang's hold all tokens of a reply."""
_FIELDS = (b"data:", b"error:")
"""What begins a line of data; older versions of llama.cpp tell errors in the second way."""

DONE = b"[DONE]"


class EventReader:
    """The data of events, of bytes in any portions. Comments, which keep a connection alive, are left out."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._held = 0

    def feed(self, received: bytes) -> list[bytes]:
        """The data of the events that these bytes complete. Raises ReplicaError: a line does not end."""
        head, newline, rest = received.partition(b"\n")
        if not newline:
            self._hold(head)
            return []
        *lines, held = rest.split(b"\n")
        first = b"".join((*self._parts, head))
        self._parts, self._held = [], 0
        self._hold(held)
        return [data for line in (first, *lines) if (data := _data(line))]

    @property
    def within(self) -> bool:
        """Whether a line has begun and not ended."""
        return self._held > 0

    def _hold(self, part: bytes) -> None:
        self._held += len(part)
        if self._held > _MOST:
            raise ReplicaError(f"the engine sent a line of more than {_MOST} bytes")
        if part:
            self._parts.append(part)


def _data(line: bytes) -> bytes:
    return next((line[len(name) :].strip() for name in _FIELDS if line.startswith(name)), b"")
