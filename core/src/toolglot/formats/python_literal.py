"""Python literals as JSON: strings of every kind, numbers, constants, lists, tuples, sets, dicts."""

from __future__ import annotations

import re
import sys
import unicodedata
from typing import TYPE_CHECKING

from toolglot.formats.cursor import Cursor, Cut, Failed, Reading
from toolglot.formats.markers import MAX_GAP, WHITESPACE, reach
from toolglot.formats.structure import Level, Put, Structure
from toolglot.formats.synthesis import Collected, quote

if TYPE_CHECKING:
    from toolglot.formats.bare_value import Subschema

MAX_KEY = 256
"""The longest keyword, in characters."""
MAX_WORD = 512
"""The longest number, in characters."""
QUOTES = "'\""
WRONG = -1
"""Where a string cannot go on."""
CONSTANTS = {"True": "true", "False": "false", "None": "null", "true": "true", "false": "false", "null": "null"}
"""Python's and JSON's, in JSON."""

_CLOSERS = {"[": "]", "(": ")", "{": "}"}
_KINDS = {"[": "list", "(": "tuple", "{": "brace"}
_PREFIX = re.compile(r"[rR]?[bBfF]?|[bBfF][rR]|[uU]")
_WORD = re.compile(r"[\w.+-]*+")
_KEYWORD = re.compile(r"[^\s,()='\"\ud800-\udbff\udd00-\udfff]*+")  # a marker token's unit is a character like others
_GAP = re.compile(rf"[ \t\r\n]{{0,{MAX_GAP}}}+")
_PLAIN = {
    (mark, formatted): re.compile(rf"[^\\{mark}{'{}' if formatted else ''}]*+")
    for mark in QUOTES
    for formatted in (False, True)
}
_ESCAPE = re.compile(
    r"\\(?:(?P<line>\r?\n|\r)|(?P<octal>[0-7]{1,3})|x(?P<x>[0-9a-fA-F]{2})"
    r"|u(?P<u>[0-9a-fA-F]{4})|U(?P<U>[0-9a-fA-F]{8})|N\{(?P<name>[^{}\n'\"]{1,100})\})"
)
_BEGUN = re.compile(r"\\(?:\r|[0-7]{1,2}|x[0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7}|N(?:\{[^{}\n'\"]{0,100})?)?")
"""The beginning of an escape, or an escape that may go on."""
_SHORT = dict(zip("abfnrtv\n\\'\"", ("\a", "\b", "\f", "\n", "\r", "\t", "\v", "", "\\", "'", '"'), strict=True))
"""Escapes of one character; a newline is left out."""
_JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")
_BASED = re.compile(r"[+-]?0(?:[xX](?:_?[0-9a-fA-F])++|[oO](?:_?[0-7])++|[bB](?:_?[01])++)")
_DECIMAL = re.compile(r"([+-]?)([0-9][0-9_]*+)?(?:(\.)([0-9][0-9_]*+)?)?(?:[eE]([+-]?[0-9]++))?")
_MAX_BASED = 256


def number(word: str) -> str | None:
    """The JSON of a Python number that is not complex; None where ``word`` is none."""
    if _JSON_NUMBER.fullmatch(word):
        return word
    if len(word) <= _MAX_BASED and _BASED.fullmatch(word):
        return str(int(word, 0))
    found = _DECIMAL.fullmatch(word)
    if found is None or not (found[2] or found[4]):
        return None
    sign, whole, point, fraction, exponent = found.groups()
    text = (whole or "0").replace("_", "").lstrip("0") or "0"
    text += f".{(fraction or '0').replace('_', '')}" if point else ""
    return ("-" if sign == "-" else "") + text + (f"e{exponent}" if exponent else "")


def scalar(word: str) -> str | None:
    """The JSON of a Python or JSON constant or number; None where ``word`` is none."""
    return CONSTANTS.get(word) or number(word)


def is_keyword(text: str) -> bool:
    """Whether a text is read as the keyword of an argument."""
    return 0 < len(text) < MAX_KEY and bool(_KEYWORD.fullmatch(text))


class WholeText(Cursor):
    """A text of which no more comes."""

    def __init__(self, text: str) -> None:  # there is no format, and so no layout
        self.text = text
        self.at = 0
        self.eof = True
        self.trail = None

    def exhaust(self, reading: Reading[None]) -> bool:
        """Read; whether all of the text, but for whitespace, was what it was to be."""
        try:
            for _ in reading:
                raise AssertionError("nothing is to be waited for")
        except (Failed, Cut):
            return False
        return not self.text[self.at :].strip(WHITESPACE)


def literal(text: str) -> str | None:
    """The JSON of a text that is one Python list, tuple, set or dict; None where it is none."""
    cursor, sink = WholeText(text), Collected()
    return sink.text if cursor.exhaust(PythonReader(cursor, sink, lenient=False).container()) else None


class PythonReader(Structure):
    """Reads Python containers. A string where the schema takes anything but strings is read as a bare value of the type
    that it takes.
    """

    def call(self, schema: Subschema | None) -> Reading[None]:
        """Read keyword arguments in their parentheses."""
        yield from self.sign("(")
        self.levels.append(Level(")", "call", "{", schema))
        yield from self.read()

    def container(self) -> Reading[None]:
        """Read a list, tuple, set or dict."""
        opener = yield from self.next()
        if opener not in _CLOSERS:
            raise self.sink.wrong()
        self.cursor.take(self.cursor.at + 1)
        self.levels.append(_level(opener, "", None))
        yield from self.read()

    def item(self, level: Level) -> Reading[None]:
        match level.kind:
            case "call":
                yield from self._argument(level)
            case "brace":
                yield from self._first(level)
            case "dict":
                key, _ = yield from self._element(":")
                yield from self._member(level, key)
            case _:
                yield from self._value(level, level.lead, level.item())

    def closing(self, level: Level) -> str:
        if level.kind == "tuple" and level.count == 1 and not level.comma:
            raise self.sink.wrong()  # parentheses around a value make no tuple
        if level.kind == "brace":
            level.lead += "{"
        return "}" if level.kind in ("call", "dict", "brace") else "]"

    def _argument(self, level: Level) -> Reading[None]:
        cursor = self.cursor
        while (end := reach(_KEYWORD, cursor.text, cursor.at, cursor.at + MAX_KEY)) == len(cursor.text):
            if end - cursor.at >= MAX_KEY:
                break
            yield from self.wait()
        if end == cursor.at:
            raise self.sink.wrong()
        key = self.sink.expand(cursor.take(end))
        yield from self.sign("=")
        yield from self._value(level, self.keyed(level, key), level.member(key))

    def _member(self, level: Level, key: str) -> Reading[None]:
        yield from self.sign(":")
        yield from self._value(level, f"{level.lead}{quote(key)}: ", level.member(key))

    def _first(self, level: Level) -> Reading[None]:
        """The first item between braces tells a dict from a set."""
        key, json_text = yield from self._element(":,}")
        if (yield from self.next()) == ":":
            level.kind, level.lead = "dict", level.lead + "{"
            yield from self._member(level, key)
        else:
            level.kind, level.lead = "set", level.lead + "["
            self.scalar(level, level.lead, json_text)

    def _value(self, level: Level, lead: str, schema: Subschema | None) -> Reading[None]:
        opener = yield from self.next()
        if opener in _CLOSERS:
            self.push(level, _level(opener, lead, schema))
            return
        word, prefix = yield from self._word()
        if not prefix:
            self.scalar(level, lead, self._constant(word))
            return
        string = PythonString(self, word, ",)]}")
        if schema is not None and schema.no_string and not self.exact:
            yield from self.typed(level, lead, schema, string.read)
        else:
            yield from self.string(level, lead, string.read)

    def _element(self, followers: str) -> Reading[tuple[str, str]]:
        """A scalar that is a dict's key or a set's first item, as key and as JSON."""
        yield from self.next()
        word, prefix = yield from self._word()
        if not prefix:
            json_text = self._constant(word)
            return json_text, json_text
        held: list[str] = []
        yield from PythonString(self, word, followers).read(held.append)
        text = "".join(held)
        return text, quote(text)

    def _constant(self, word: str) -> str:
        json_text = scalar(word)
        if json_text is None:
            raise self.sink.wrong()
        return json_text

    def _word(self) -> Reading[tuple[str, bool]]:
        """A word, and whether it is the prefix of a string (as the empty one is)."""
        cursor = self.cursor
        pieces, length = [], 0
        while True:
            pieces.append(cursor.take(reach(_WORD, cursor.text, cursor.at, cursor.at + MAX_WORD + 1 - length)))
            length += len(pieces[-1])
            if length > MAX_WORD:
                raise self.sink.wrong()
            if cursor.at < len(cursor.text):
                break
            yield from self.wait()
        word = "".join(pieces)
        quoted = cursor.text[cursor.at] in QUOTES
        if quoted and not _PREFIX.fullmatch(word):
            raise self.sink.wrong()
        return word, quoted


class PythonString:
    """Reads a string whose prefix has been read. ``followers``: what may stand behind it."""

    def __init__(self, reader: Structure, prefix: str, followers: str) -> None:
        self._reader = reader
        self._cursor = reader.cursor
        self._raw = "r" in prefix.lower()
        self._formatted = "f" in prefix.lower()
        self._followers = followers
        self._mark = self._quote = ""
        self._closed = False

    def read(self, put: Put) -> Reading[None]:
        """Read it to its end, into ``put`` as it comes."""
        yield from self._open()
        cursor = self._cursor
        plain = _PLAIN[self._mark, self._formatted]
        while True:
            end = reach(plain, cursor.text, cursor.at)
            if end < len(cursor.text):
                self._advance(plain, end, put)
            elif end > cursor.at:
                put(self._reader.sink.expand(cursor.take(end)))
            if self._closed:
                return
            self._reader.pause()
            yield

    def _open(self) -> Reading[None]:
        cursor = self._cursor
        self._mark = cursor.text[cursor.at]
        while not cursor.eof and cursor.text[cursor.at :] in (self._mark, self._mark * 2):
            yield from self._reader.wait()
        self._quote = self._mark * (3 if cursor.text.startswith(self._mark * 3, cursor.at) else 1)
        cursor.take(cursor.at + len(self._quote))

    def _advance(self, plain: re.Pattern[str], at: int, put: Put) -> None:
        """Pass on what has arrived of it; at ``at`` stands the first character that means something."""
        text, expand = self._cursor.text, self._reader.sink.expand
        pieces = [expand(text[self._cursor.at : at])]
        moved = at
        while at < len(text):
            moved = self._special(text, at, pieces)
            if moved in (at, WRONG):
                break
            at = moved
            if self._closed:
                break
            at = reach(plain, text, moved)
            pieces.append(expand(text[moved:at]))
        self._cursor.take(at)
        if said := "".join(pieces):
            put(said)
        if moved == WRONG:
            raise self._reader.sink.wrong()

    def _special(self, text: str, at: int, pieces: list[str]) -> int:
        """What a backslash, quote or brace means; where it ends, ``at`` when more must be known, or WRONG."""
        if text[at] == "\\":
            return self._backslash(text, at, pieces)
        if text[at] != self._mark:
            return self._brace(text, at, pieces)
        end = at + len(self._quote)
        closes = self._closes(text, at, end)
        if closes is None:
            return at
        self._closed = closes
        if not closes:
            pieces.append(self._mark)
        return end if closes else at + 1

    def _closes(self, text: str, at: int, end: int) -> bool | None:
        """Whether the quote at ``at`` ends the string; None when more must be known."""
        if not text.startswith(self._quote, at):
            more = not self._cursor.eof and self._quote.startswith(text[at:])
            return None if more else False
        if not self._reader.lenient:
            return True
        behind = reach(_GAP, text, end)
        if behind == len(text):
            return True if self._cursor.eof else None
        # two strings side by side are one in Python: no quote that is data
        closes = text[behind] in self._followers or (behind > end and text[behind] in QUOTES)
        if not closes:
            self._reader.sink.repaired("unescaped_quotes")
        return closes

    def _brace(self, text: str, at: int, pieces: list[str]) -> int:
        """A brace of an f-string: doubled it is one; a placeholder has no value here."""
        if at + 1 == len(text):
            return at
        doubled = text[at + 1] == text[at]
        if text[at] == "{" and not doubled:
            return WRONG
        pieces.append(text[at])
        return at + 1 + doubled

    def _backslash(self, text: str, at: int, pieces: list[str]) -> int:
        if at + 1 == len(text):
            return at
        if self._raw:
            pieces.append(self._reader.sink.expand(text[at : at + 2]))
            return at + 2
        if (short := _SHORT.get(text[at + 1])) is not None:
            pieces.append(short)
            return at + 2
        found = _ESCAPE.match(text, at)
        if (found is None or found.end() == len(text)) and _BEGUN.fullmatch(text, at):
            return at
        said = found and _said(found)
        if found is None or said is None:
            slash = text[at + 1] == "/" and self._mark == '"'  # JSON escapes it; Python knows no such escape
            pieces.append("" if slash else "\\")
            return at + 1
        pieces.append(said)
        return found.end()


def _level(opener: str, lead: str, schema: Subschema | None) -> Level:
    return Level(_CLOSERS[opener], _KINDS[opener], lead if opener == "{" else lead + "[", schema)


def _said(found: re.Match[str]) -> str | None:
    """What an escape stands for; None where that is no character."""
    kind = found.lastgroup or ""
    text = found[kind]
    match kind:
        case "line":
            return ""
        case "octal":
            return chr(int(text, 8))
        case "name":
            return _named(text)
    code = int(text, 16)
    return chr(code) if code <= sys.maxunicode else None


def _named(name: str) -> str | None:
    try:
        return unicodedata.lookup(name)
    except (KeyError, UnicodeEncodeError):  # the second where a marker token, or half a surrogate pair, is in it
        return None
