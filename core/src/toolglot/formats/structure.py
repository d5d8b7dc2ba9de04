"""Reading values that contain values, with an explicit stack, and writing them as JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from toolglot.formats.cursor import Cursor, Cut, Reading, Stopped
from toolglot.formats.markers import SPACES, WHITESPACE, reach
from toolglot.formats.synthesis import Sink, escape, quote

if TYPE_CHECKING:
    from toolglot.formats.bare_value import Subschema
    from toolglot.formats.machine import Machine
    from toolglot.formats.synthesis import Synthesis

Put = Callable[[str], None]
"""Takes more of a string's text."""


class Level:
    """A container that is open. ``lead`` is the JSON to be written before its next item."""

    __slots__ = ("closer", "comma", "count", "filled", "keys", "kind", "lead", "schema")

    def __init__(self, closer: str, kind: str, lead: str, schema: Subschema | None) -> None:
        self.closer = closer
        self.kind = kind
        self.lead = lead
        self.schema = schema
        self.count = 0
        self.filled = self.comma = False
        self.keys: set[str] = set()

    def member(self, key: str) -> Subschema | None:
        """The schema of the member ``key``."""
        return self.schema and self.schema.property(key)

    def item(self) -> Subschema | None:
        """The schema of the next item."""
        return self.schema and self.schema.item(self.count)


class Structure:
    """Reads containers; how keys and scalars are written is left to its kinds. ``lenient``: a quote that cannot end
    its string is data. ``exact``: every value is of the type that it is written as, and the grammar sees to the keys.
    """

    def __init__(self, cursor: Cursor, sink: Sink, *, lenient: bool, exact: bool = False) -> None:
        self.cursor = cursor
        self.sink = sink
        self.lenient = lenient
        self.exact = exact
        self.levels: list[Level] = []

    def read(self) -> Reading[None]:
        """Read until every open container is closed. Raises what the sink says, and Cut."""
        while self.levels:
            level = self.levels[-1]
            char = yield from self.next()
            if level.filled and char == ",":
                self.cursor.take(self.cursor.at + 1)
                level.filled, level.comma = False, True
            elif char == level.closer and (level.filled or level.comma or not level.count):
                self._close(level)
            elif level.filled:
                raise self.sink.wrong()
            else:
                yield from self.item(level)

    def item(self, level: Level) -> Reading[None]:
        """Read the next item, its key included, or open it."""
        raise NotImplementedError

    def closing(self, level: Level) -> str:
        """The JSON that closes a container."""
        return "]" if level.kind == "array" else "}"

    def wait(self) -> Reading[None]:
        """Wait for more of the output. Raises Cut when none comes."""
        self.pause()
        yield

    def pause(self) -> None:
        """Make ready to wait, as strings do for themselves. Raises Cut when no more comes."""
        self.sink.flush()
        if self.cursor.eof:
            raise Cut

    def sign(self, sign: str) -> Reading[None]:
        """Read ``sign``, with whitespace before it."""
        if (yield from self.next()) != sign:
            raise self.sink.wrong()
        self.cursor.take(self.cursor.at + 1)

    def next(self) -> Reading[str]:
        """Skip whitespace; the character behind it."""
        cursor = self.cursor
        while cursor.at == len(cursor.text) or cursor.text[cursor.at] in WHITESPACE:
            cursor.take(reach(SPACES, cursor.text, cursor.at))
            if cursor.at == len(cursor.text):
                yield from self.wait()
        return cursor.text[cursor.at]

    def push(self, level: Level, inner: Level) -> None:
        """Open a container in ``level``."""
        self.cursor.take(self.cursor.at + 1)
        self.filled(level)
        self.levels.append(inner)

    def filled(self, level: Level) -> None:
        """The next item has begun."""
        level.lead = ", "
        level.count += 1
        level.filled, level.comma = True, False

    def scalar(self, level: Level, lead: str, json_text: str) -> None:
        """A scalar is the next item."""
        self.filled(level)
        self.sink.write(lead + json_text)

    def string(self, level: Level, lead: str, reading: Callable[[Put], Reading[None]]) -> Reading[None]:
        """A string is the next item: passed on as it comes."""
        self.filled(level)
        self.sink.write(f'{lead}"')
        yield from reading(lambda text: self.sink.write(escape(text)))
        self.sink.write('"')

    def typed(
        self, level: Level, lead: str, schema: Subschema, reading: Callable[[Put], Reading[None]]
    ) -> Reading[None]:
        """A string that the schema reads as something else is the next item: held until it is whole."""
        held: list[str] = []
        yield from reading(held.append)
        self.scalar(level, lead, schema.value("".join(held)))

    def keyed(self, level: Level, key: str) -> str:
        """The lead of a member. An argument of the call may come once; inside, keys may repeat as in JSON."""
        if len(self.levels) == 1:
            if key in level.keys and not self.exact:
                self.sink.malformed()
            level.keys.add(key)
        return f"{level.lead}{quote(key)}: "

    def _close(self, level: Level) -> None:
        closing = self.closing(level)
        self.cursor.take(self.cursor.at + 1)
        self.levels.pop()
        self.sink.write(closing if level.count else level.lead + closing)


def guarded(machine: Machine, sink: Synthesis, reading: Reading[None]) -> Reading[None]:
    """Read a call's arguments. Where they stop at a marker that ends the call, what was tried belongs to the call."""
    before = len(machine.trail or ())
    try:
        yield from reading
    except Stopped:
        sink.flush()
        if not (yield from machine.at_ender()):
            raise
        machine.rest("".join(machine.trail or ()))
        machine.trail = None
        raise machine.wrong() from None
    except Cut:
        if not sink.begun:
            machine.rest("".join((machine.trail or [])[before:]))
        raise
    finally:
        sink.flush()
