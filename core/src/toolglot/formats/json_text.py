"""Reading JSON as it arrives: delimited by quotes and brackets only, forwarded as it was written, judged once when
it is whole.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from random import Random as Rng
from typing import TYPE_CHECKING, Any, Literal, Self

import msgspec
from msgspec import Struct

from toolglot.errors import RenderError
from toolglot.formats.json_grammar import json_value
from toolglot.formats.markers import PARTIAL, reach

if TYPE_CHECKING:
    from toolglot.events import Call
    from toolglot.formats.body import Pieces
    from toolglot.formats.cursor import Reading
    from toolglot.formats.machine import Machine
    from toolglot.formats.signature import Signature
    from toolglot.requests import Tool

MAX_KEY = 256
"""The longest key or name, in characters as written."""

_KEY = re.compile(r'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_STRING = re.compile(r'[^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*+', re.DOTALL)
_SCALAR = re.compile(r"[^\s,\[\]{}\"]*+")
_UNFINISHED = re.compile(
    r"(?<!\\)(?:\\\\)*+(\\(?:u(?:d[89ab][0-9a-f]{2}(?:\\(?:u[0-9a-f]{0,3})?)?|[0-9a-f]{0,3}))?)\Z", re.IGNORECASE
)
"""An escape at the end that may go on: half an escape, or the first of a surrogate pair."""

_ESCAPE = re.compile(r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u....|\\.", re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
"""Half a pair, which UTF-8 cannot hold: it stays an escape."""

Sink = Callable[[str], None]
Ending = Literal["closed", "ender"]


class Json(Struct, frozen=True):
    """Arguments as a JSON object, passed on as they are written."""

    @property
    def first(self) -> str:
        return "{"

    @property
    def verbatim(self) -> bool:
        return True

    @property
    def markers(self) -> tuple[str, ...]:
        return ()

    def encoded(self, encode: Callable[[str], str]) -> Self:  # noqa: ARG002  # JSON has no markers
        return self

    def read(self, machine: Machine) -> Reading[None]:
        yield from machine.skip()
        if (yield from machine.at_ender()):
            machine.supply("missing_arguments")
            return
        if (yield from machine.peek()) != "{":
            raise machine.wrong()
        machine.begin()
        if (yield from read_value(machine, machine.arguments)) == "ender":
            raise machine.wrong()
        machine.complete()

    def render(self, call: Call, index: int, tool: Tool | None, vary: Rng | None) -> str:  # noqa: ARG002  # for others
        require_object(call)
        return call.arguments

    def grammar(self, signature: Signature) -> Pieces:
        return (json_value(signature.arguments, any_order=signature.any_order),)


def require_object(call: Call) -> None:
    """Raise RenderError when a call's arguments are no JSON object."""
    try:
        fine = isinstance(decode(call.arguments), dict)
    except ValueError:
        fine = False
    if not fine:
        raise RenderError(f"the arguments of {call.name!r} are no JSON object")


def decode(text: str) -> Any:
    """The value of a whole JSON text.

    Raises:
        ValueError: the text is not JSON.
    """
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:  # which also refuses numbers beyond a float's range, and half of a surrogate pair
        return _decode_leniently(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _decode_leniently(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _finite(number: str) -> float:
    """The number, or the float that is nearest to it: infinity is no JSON value, and would validate as none."""
    return max(-sys.float_info.max, min(float(number), sys.float_info.max))


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


class Delimiters:
    """The regular expressions that find where a value's structure changes, or where a marker may end it early."""

    def __init__(self, first: str) -> None:
        stops = re.escape("".join(char for char in first if char not in '"{}[],:'))
        self.outside = re.compile(rf'[^"{{}}\[\]{stops}]*+')
        self.broken = re.compile(rf'[^"\\{stops}]*+(?:\\.[^"\\{stops}]*+)*+', re.DOTALL)


class _Scanner:
    """Where a JSON value stands: its depth, and whether in a string. A raw control character in a string means that
    a quote is missing somewhere, so that from there on a marker is a marker again.
    """

    __slots__ = ("broken", "depth", "ended", "inside")

    def __init__(self, *, inside: bool = False) -> None:
        self.depth = 0
        self.inside, self.broken = inside, False
        self.ended: Ending | None = None

    def advance(self, machine: Machine) -> int:
        """How far the value reaches in what has arrived."""
        text, at, end = machine.text, machine.at, len(machine.text)
        delimiters = machine.layout.delimiters
        while at < end and self.ended is None:
            pattern = (delimiters.broken if self.broken else _STRING) if self.inside else delimiters.outside
            at = reach(pattern, text, at)
            if at == end or (self.inside and text[at] == "\\"):
                return at  # a lone backslash waits for the character that it escapes
            moved = self._step(machine, text[at], at)
            if moved == at:
                return at
            at = moved
        return at

    def _step(self, machine: Machine, char: str, at: int) -> int:
        if char == '"':
            self.inside, self.broken = not self.inside, False
            self.ended = "closed" if not self.depth else None
        elif self.inside and char < " ":
            self.broken = True
        elif not self.inside and char in "{[":
            self.depth += 1
        elif not self.inside and char in "]}":
            self.depth -= 1
            self.ended = None if self.depth else "closed"
        else:
            return self._marker(machine, at)
        return at + 1

    def _marker(self, machine: Machine, at: int) -> int:
        hit = machine.layout.enders.at(machine.text, at, eof=machine.eof)
        if hit.end >= 0:
            self.ended = "ender"
            return at
        return at if hit.end == PARTIAL else at + 1


def read_value(machine: Machine, sink: Sink) -> Reading[Ending]:
    """Read an object or array at the cursor into ``sink``, piece by piece as it comes.

    Returns whether the value closed, or a marker that can end the call came first. Raises Cut at the end of the output.
    """
    scanner = _Scanner()
    while True:
        end = scanner.advance(machine)
        if scanner.ended is None and machine.eof:
            end = len(machine.text)
        if end > machine.at:
            sink(machine.take(end))
        if scanner.ended is not None:
            return scanner.ended
        yield from machine.more()


def read_scalar(machine: Machine) -> Reading[str]:
    """Read a number, ``true``, ``false``, ``null`` or whatever else stands there up to a delimiter.

    Raises what :meth:`Machine.wrong` says when it is longer than MAX_KEY.
    """
    while True:
        end = reach(_SCALAR, machine.text, machine.at, machine.at + MAX_KEY + 1)
        if end - machine.at > MAX_KEY:
            raise machine.wrong()
        if end < len(machine.text):
            return machine.take(end)
        yield from machine.more()


def read_key(machine: Machine) -> Reading[str | None]:
    """Read a string of at most MAX_KEY characters at the cursor, and decode it. None: it is not such a string."""
    if (yield from machine.peek()) != '"':
        return None
    while True:
        start = machine.at + 1
        end = reach(_KEY, machine.text, start, start + MAX_KEY)
        if end < len(machine.text) and machine.text[end] == '"':
            return _unquoted(machine.take(end + 1))
        if end < len(machine.text) and not machine.text.endswith("\\", end):
            return None  # too long; a lone backslash at the end waits for its partner
        yield from machine.more()


def _unquoted(text: str) -> str | None:
    try:
        value = decode(text)
    except ValueError:
        return None
    return value if isinstance(value, str) else None


def read_string(machine: Machine, sink: Sink, *, decoded: bool = True) -> Reading[Ending]:
    """Read a string at the cursor into ``sink``, piece by piece: what it says, or with ``decoded`` false how it is
    written.

    As :func:`read_value` otherwise.
    """
    quote = machine.take(machine.at + 1)
    if not decoded:
        sink(quote)
    scanner = _Scanner(inside=True)
    while True:
        end = scanner.advance(machine)
        if scanner.ended is None:
            cut = _UNFINISHED.search(machine.text, machine.at, end)
            end = cut.start(1) if cut else end
        if scanner.ended is None and machine.eof and not decoded:
            end = len(machine.text)  # half an escape says nothing, but it is how the string is written
        piece = machine.take(end)
        if piece and decoded:
            said = _decoded(piece[:-1] if scanner.ended == "closed" else piece)
            sink(_SURROGATE.sub(_escape, machine.layout.binding.expand(said)))
        elif piece:
            sink(piece)
        if scanner.ended is not None:
            return scanner.ended
        yield from machine.more()


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def _decoded(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return _ESCAPE.sub(_unescaped, text)


def _unescaped(escape: re.Match[str]) -> str:
    try:
        return str(json.loads(f'"{escape[0]}"'))
    except ValueError:
        return escape[0]  # a bad escape stays as it is written: the arguments will be found malformed
