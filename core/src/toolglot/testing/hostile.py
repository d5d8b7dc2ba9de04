"""Outputs that nobody should write: they must be read all the same, and in linear time."""

from __future__ import annotations

from collections.abc import Iterator

from toolglot.testing.markers import Markers


def texts(markers: Markers, call: str) -> Iterator[tuple[str, str]]:
    """Short ones, each with what it is. ``call`` is a rendered call."""
    yield "nothing", ""
    yield "whitespace", " \n\t \r\n"
    yield "NUL", "\0" + call.replace(" ", "\0") + "\0"
    yield "lone surrogates", "\ud800" + call + "\udc00\udc01" + call[: len(call) // 2] + "\udfff"
    yield "control characters", "".join(map(chr, range(32))) + call + "\x7f\x85\u2028\ufeff"
    yield "a call in a call", call[: len(call) // 2] + call + call[len(call) // 2 :]
    yield "twice the first half", call[: len(call) // 2] + call
    yield "reversed", call[::-1]
    for marker in markers.texts:
        yield f"only {marker}", marker
        yield f"{marker} twice", marker + marker + call
        yield f"half {marker}", marker[:-1] + call + marker[1:]
        yield f"{marker} in {marker}", marker[: len(marker) // 2] + marker + marker[len(marker) // 2 :]
        yield f"{marker} after each character", marker.join(call[:: max(1, len(call) // 20)])


def floods(markers: Markers, call: str) -> Iterator[tuple[str, str]]:
    """What is repeated without end, each with what it is."""
    for unit in ("<", "{", "[", '"', "\\", " ", "\n", "a", '{"', "}", "]]", "\0", "<a", "\u00e9", '{"a":'):
        yield f"{unit!r}", unit
    for marker in markers.texts:
        yield marker, marker
        if marker[1:]:
            yield f"half {marker}", marker[:-1]
        yield f"{marker} and a brace", marker + "{"
        yield f"{marker} and whitespace", marker + " "
    yield "calls", call
    yield "calls without their ends", call[: len(call) * 2 // 3]


def inside(call: str, flood: str, length: int) -> str:
    """``flood`` in the middle of a call."""
    middle = len(call) // 2
    return call[:middle] + repeated(flood, length) + call[middle:]


def after(opener: str, flood: str, length: int) -> str:
    """``flood`` after an opener."""
    return opener + repeated(flood, length)


def repeated(unit: str, length: int) -> str:
    """``unit`` over and over, ``length`` characters."""
    return (unit * (length // len(unit) + 1))[:length]
