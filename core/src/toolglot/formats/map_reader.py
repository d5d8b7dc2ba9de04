"""Reading a map with bare keys, and with a marker for a quote: ``{city:<|"|>Oslo<|"|>,days:3}``."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Protocol

from toolglot.formats import python_literal
from toolglot.formats.cursor import Cursor, Reading
from toolglot.formats.markers import MAX_GAP, PARTIAL, WHITESPACE, Scan, reach, scan_of
from toolglot.formats.python_literal import QUOTES, PythonString
from toolglot.formats.structure import Level, Put, Structure
from toolglot.formats.synthesis import Sink, quote

if TYPE_CHECKING:
    from toolglot.formats.bare_value import Subschema

MAX_KEY = 256
"""The longest bare key, in characters."""

_CLOSERS = {"{": "}", "[": "]", "(": ")"}
_KEY = re.compile(r"[^:,{}\[\]<\"'\r\n\ud800-\udfff]*+")  # `<` may begin a marker
_GAP = re.compile(rf"[ \t\r\n]{{0,{MAX_GAP}}}+")


class Quoting(Protocol):
    """How a map marks strings."""

    @property
    def quote(self) -> str:
        """The marker on both sides."""

    @property
    def quoted(self) -> str:
        """What stands between: ``strings``, or ``all`` values."""


def is_bare(key: str, marker: str) -> bool:
    """Whether a key is read without quotes."""
    return (
        0 < len(key) < MAX_KEY
        and key == key.strip(WHITESPACE)
        and not key.startswith((marker, ")"))  # the map may stand in parentheses
        and bool(_KEY.fullmatch(key))
    )


class MapReader(Structure):
    """Reads a map. ``enders`` are the markers that can end the call."""

    def __init__(
        self, cursor: Cursor, sink: Sink, form: Quoting, enders: Scan[str], *, lenient: bool, exact: bool = False
    ) -> None:
        super().__init__(cursor, sink, lenient=lenient, exact=exact)
        self.enders = enders
        self.quotes = _quotes(form.quote)
        said = sink.expand(form.quote)
        self.inner = '"' if '"' in said else said
        """What the quote is where it ends nothing."""
        self._all = form.quoted == "all"

    def whole(self, schema: Subschema | None) -> Reading[None]:
        """Read a map from its opener on."""
        opener = yield from self.next()
        if opener not in "{(":
            raise self.sink.wrong()
        self.cursor.take(self.cursor.at + 1)
        self.levels.append(Level(_CLOSERS[opener], "map", "{", schema))
        yield from self.read()

    def item(self, level: Level) -> Reading[None]:
        if level.kind == "array":
            yield from self._value(level, level.lead, level.item())
            return
        key = yield from self._key()
        yield from self.sign(":")
        yield from self._value(level, self.keyed(level, key), level.member(key))

    def _key(self) -> Reading[str]:
        held: list[str] = []
        if (yield from self._quoted()):
            yield from MarkedString(self, ":").read(held.append)
        elif self.cursor.text[self.cursor.at] in QUOTES:
            yield from PythonString(self, "", ":").read(held.append)
        else:
            held.append((yield from self._bare_key()))
        return "".join(held)

    def _bare_key(self) -> Reading[str]:
        cursor = self.cursor
        while (end := reach(_KEY, cursor.text, cursor.at, cursor.at + MAX_KEY)) == len(cursor.text):
            if end - cursor.at >= MAX_KEY:
                break
            yield from self.wait()
        key = cursor.text[cursor.at : end].rstrip(WHITESPACE)
        if not key:
            raise self.sink.wrong()
        cursor.take(end)
        return self.sink.expand(key)

    def _value(self, level: Level, lead: str, schema: Subschema | None) -> Reading[None]:
        opener = yield from self.next()
        if opener in "{[":
            kind = "map" if opener == "{" else "array"
            self.push(level, Level(_CLOSERS[opener], kind, lead + opener, schema))
        elif (yield from self._quoted()):
            yield from self._string(level, lead, schema, MarkedString(self, "," + level.closer).read)
        elif opener in QUOTES:
            yield from self._string(level, lead, schema, PythonString(self, "", "," + level.closer).read)
        else:
            word = yield from self._bare()
            typed = schema is not None and bool(schema.types) and not self.exact
            untyped = None if typed else python_literal.scalar(word)
            self.scalar(level, lead, untyped or (schema.value(word) if schema else quote(word)))

    def _string(
        self, level: Level, lead: str, schema: Subschema | None, read: Callable[[Put], Reading[None]]
    ) -> Reading[None]:
        argument = self._all and not (self.exact and len(self.levels) > 1)  # deeper, quotes stand around strings only
        if argument and schema is not None and not schema.string_only:
            yield from self.typed(level, lead, schema, read)
        else:
            yield from self.string(level, lead, read)

    def _quoted(self) -> Reading[bool]:
        """Read a quote, if one stands here."""
        yield from self.next()
        while (hit := self.quotes.at(self.cursor.text, self.cursor.at, eof=False)).end == PARTIAL:
            yield from self.wait()
        if hit.end >= 0:
            self.cursor.take(hit.end)
        return hit.end >= 0

    def _bare(self) -> Reading[str]:
        """Read a value without quotes."""
        cursor, held = self.cursor, []
        outside = _outside(self.enders.first)
        while True:
            held.append(cursor.take(reach(outside, cursor.text, cursor.at)))
            if cursor.at == len(cursor.text):
                yield from self.wait()
                continue
            if cursor.text[cursor.at] in ",{}[]" or cursor.text[cursor.at] == self.levels[-1].closer:
                break
            hit = self.enders.at(cursor.text, cursor.at, eof=cursor.eof)
            if hit.end >= 0:
                break
            if hit.end == PARTIAL:
                yield from self.wait()
            else:
                held.append(cursor.take(cursor.at + 1))
        word = self.sink.expand("".join(held)).strip(WHITESPACE)
        if not word:
            raise self.sink.wrong()
        return word


class MarkedString:
    """Reads a string behind its quote. ``followers``: what may stand behind the quote that ends it."""

    def __init__(self, reader: MapReader, followers: str) -> None:
        self._reader = reader
        self._followers = followers

    def read(self, put: Put) -> Reading[None]:
        """Read it to its end, into ``put`` as it comes."""
        while not self._advance(put):
            self._reader.pause()
            yield

    def _advance(self, put: Put) -> bool:
        """Pass on what has arrived of it; whether that is all."""
        reader, cursor = self._reader, self._reader.cursor
        if reader.quotes.first not in cursor.text:  # most often
            put(reader.sink.expand(cursor.take(len(cursor.text))))
            return False
        while True:
            hit = reader.quotes.find(cursor.text, cursor.at, eof=False)
            if hit.start > cursor.at:
                put(reader.sink.expand(cursor.take(hit.start)))
            closes = self._closes(cursor.text, hit.end) if hit.end >= 0 else None
            if closes is None:
                return False
            cursor.take(hit.end)
            if closes:
                return True
            put(reader.inner)

    def _closes(self, text: str, end: int) -> bool | None:
        """Whether the quote that ends at ``end`` ends the string; None when more must be known, or none comes."""
        reader = self._reader
        behind = reach(_GAP, text, end)
        if behind == len(text):
            return None
        if text[behind] in self._followers:
            return True
        hit = reader.enders.at(text, behind, eof=False)
        return None if hit.end == PARTIAL else hit.end >= 0


@cache
def _quotes(marker: str) -> Scan[str]:
    return scan_of((marker,))


@cache
def _outside(first: str) -> re.Pattern[str]:
    """What a value without quotes may hold, up to a character that means something."""
    return re.compile(rf"[^,{{}}\[\]){re.escape(first)}]*+")
