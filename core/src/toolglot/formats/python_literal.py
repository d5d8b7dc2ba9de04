"""Python literals as JSON: strings of every kind, numbers, constants, lists, tuples, sets, dicts."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, NamedTuple

from toolglot.formats.cursor import Cursor, Cut, Failed, Reading
from toolglot.formats.markers import MAX_GAP, WHITESPACE, reach
from toolglot.formats.structure import Level, Put, Structure
from toolglot.formats.synthesis import Collected, Sink, quote

if TYPE_CHECKING:
    from toolglot.formats.bare_value import Subschema

MAX_KEY = 256
"""The longest keyword, in characters."""
MAX_WORD = 4096
"""The longest number, in characters."""
QUOTES = "'\""
CONSTANTS = {"True": "true", "False": "false", "None": "null", "true": "true", "false": "false", "null": "null"}
"""Python's and JSON's, in JSON."""

_CLOSERS = {"[": "]", "(": ")", "{": "}"}
_PREFIX = re.compile(r"[rR]?[bBfF]?|[bBfF][rR]|[uU]")
_WORD = re.compile(r"[^\s,()\[\]{}:='\"#\ud800-\udfff]*+")
_KEYWORD = re.compile(r"[^\s,()='\"\ud800-\udfff]*+")
_GAP = re.compile(rf"[ \t\r\n]{{0,{MAX_GAP}}}+")
_PLAIN = {
    (mark, placeholders): re.compile(rf"[^\\{mark}{'{}' if placeholders else ''}]*+")
    for mark in QUOTES
    for placeholders in (False, True)
}
_ESCAPE = re.compile(
    r"\\(?:(?P<one>[\\'\"abfnrtv])|(?P<line>\r?\n|\r)|(?P<octal>[0-7]{1,3})|x(?P<x>[0-9a-fA-F]{2})"
    r"|u(?P<u>[0-9a-fA-F]{4})|U(?P<U>[0-9a-fA-F]{8})|N\{(?P<name>[^{}\n'\"]{1,100})\})"
)
_BEGUN = re.compile(r"\\(?:\r|[0-7]{1,2}|x[0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7}|N(?:\{[^{}\n'\"]{0,100})?)?")
"""The beginning of an escape, or an escape that may go on."""
_ONE = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_BASED = re.compile(r"([+-]?)(0[xX](?:_?[0-9a-fA-F])++|0[oO](?:_?[0-7])++|0[bB](?:_?[01])++)")
_DECIMAL = re.compile(r"([+-]?)([0-9][0-9_]*+)?(?:(\.)([0-9][0-9_]*+)?)?(?:[eE]([+-]?[0-9]++))?")
_MAX_BASED = 256
_JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")


def number(word: str) -> str | None:
    """The JSON of a Python number that is not complex; None where ``word`` is none."""
    if _JSON_NUMBER.fullmatch(word):
        return word
    if (based := _BASED.fullmatch(word)) and len(word) <= _MAX_BASED:
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


class Ends(NamedTuple):
    """How a string ends: the characters that may follow its quote, and whether other quotes are data."""

    followers: str
    lenient: bool


class PythonString:
    """Reads a string whose prefix has been read."""

    def __init__(self, structure: Structure, prefix: str, ends: Ends, put: Put) -> None:
        prefix = prefix.lower()
        self._structure = structure
        self._cursor = structure.cursor
        self._sink = structure.sink
        self._raw = "r" in prefix
        self._formatted = "f" in prefix
        self._ends = ends
        self._put = put
        self._mark = self._quote = ""
        self._closed = False

    def read(self) -> Reading[None]:
        """Read it to its end."""
        yield from self._open()
        plain = _PLAIN[self._mark, self._formatted]
        while True:
            self._advance(plain)
            if self._closed:
                return
            yield from self._structure.wait()

    def _open(self) -> Reading[None]:
        cursor = self._cursor
        self._mark = cursor.text[cursor.at]
        while not cursor.eof and cursor.text[cursor.at :] in (self._mark, self._mark * 2):
            yield from self._structure.wait()
        self._quote = self._mark * (3 if cursor.text.startswith(self._mark * 3, cursor.at) else 1)
        cursor.take(cursor.at + len(self._quote))

    def _advance(self, plain: re.Pattern[str]) -> None:
        """Pass on what has arrived of it."""
        text, at = self._cursor.text, self._cursor.at
        pieces: list[str] = []
        while at < len(text) and not self._closed:
            end = reach(plain, text, at)
            if end > at:
                pieces.append(self._sink.expand(text[at:end]))
            at = end if end == len(text) else self._special(text, end, pieces)
            if at == end:
                break
        self._cursor.take(at)
        if pieces:
            self._put("".join(pieces))

    def _special(self, text: str, at: int, pieces: list[str]) -> int:
        """What a backslash, quote or brace means; where it ends, or ``at`` when more must be known."""
        if text[at] == "\\":
            return self._escape(text, at, pieces)
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
        if not self._ends.lenient:
            return True
        behind = reach(_GAP, text, end)
        if behind == len(text) and not self._cursor.eof and behind - end < MAX_GAP:
            return None
        closes = behind - end >= MAX_GAP or text[behind : behind + 1] in self._ends.followers
        # two strings side by side are one in Python: not to be taken for a quote that is data
        closes = closes or (behind > end and text[behind] in QUOTES)
        if not closes:
            self._sink.repaired("unescaped_quotes")
        return closes

    def _brace(self, text: str, at: int, pieces: list[str]) -> int:
        """A brace of an f-string: doubled it is one, and placeholders have no value here."""
        if at + 1 == len(text) and not self._cursor.eof:
            return at
        doubled = text[at + 1 : at + 2] == text[at]
        if text[at] == "{" and not doubled:
            raise self._sink.wrong()
        pieces.append(text[at])
        return at + 1 + doubled

    def _escape(self, text: str, at: int, pieces: list[str]) -> int:
        if self._raw:
            if at + 1 == len(text):
                return at
            pieces.append(self._sink.expand(text[at : at + 2]))
            return at + 2
        if not self._cursor.eof and _BEGUN.fullmatch(text, at):
            return at
        if at + 1 == len(text):
            return at
        found = _ESCAPE.match(text, at)
        said = _said(found) if found else None
        if said is None:
            said = "" if text[at + 1] == "/" and self._mark == '"' else "\\"  # JSON escapes slashes
            pieces.append(said)
            return at + 1
        assert found is not None
        pieces.append(said)
        return found.end()


def _said(found: re.Match[str]) -> str | None:
    """What an escape stands for; None where that is no character."""
    kind, text = found.lastgroup, found[found.lastgroup or 0]
    match kind:
        case "line":
            return ""
        case "one":
            return _ONE.get(text, text)
        case "octal":
            return chr(int(text, 8))
        case "name":
            try:
                return unicodedata.lookup(text)
            except KeyError:
                return None
    code = int(text, 16)
    return chr(code) if code <= sys.maxunicode else None


class PythonReader(Structure):
    """Reads Python containers. ``lenient``: a quote that cannot end its string is data.

    A string where the schema takes anything but strings is read as a bare value of the schema's type.
    """

    def __init__(self, cursor: Cursor, sink: Sink, *, lenient: bool) -> None:
        super().__init__(cursor, sink)
        self._lenient = lenient

    def call(self, schema: Subschema | None) -> Reading[None]:
        """Read keyword arguments and the parenthesis behind them."""
        self.levels.append(Level(")", "call", "{", schema))
        yield from self.read()

    def container(self, schema: Subschema | None) -> Reading[None]:
        """Read a list, tuple, set or dict."""
        opener = yield from self.next()
        if opener not in _CLOSERS:
            raise self.sink.wrong()
        self.cursor.take(self.cursor.at + 1)
        self.levels.append(_level(opener, "", schema))
        yield from self.read()

    def item(self, level: Level) -> Reading[None]:
        match level.kind:
            case "call":
                key = yield from self._keyword()
                yield from self._value(level, self.keyed(level, key), level.member(key))
            case "brace":
                yield from self._first_of_brace(level)
            case "dict":
                key, json_text = yield from self._element(":")
                yield from self._entry(level, key, json_text)
            case _:
                yield from self._value(level, level.lead, level.item())

    def closing(self, level: Level) -> str:
        if level.kind == "tuple" and level.count == 1 and not level.comma:
            raise self.sink.wrong()  # parentheses around a value
        if level.kind == "brace":
            level.lead += "{"
        return "}" if level.kind in ("call", "dict", "brace") else "]"

    def _keyword(self) -> Reading[str]:
        cursor = self.cursor
        while True:
            end = reach(_KEYWORD, cursor.text, cursor.at, cursor.at + MAX_KEY)
            if end < len(cursor.text) or end - cursor.at >= MAX_KEY:
                break
            yield from self.wait()
        if end == cursor.at:
            raise self.sink.wrong()
        key = cursor.take(end)
        yield from self._sign("=")
        return key

    def _sign(self, sign: str) -> Reading[None]:
        if (yield from self.next()) != sign:
            raise self.sink.wrong()
        self.cursor.take(self.cursor.at + 1)

    def _value(self, level: Level, lead: str, schema: Subschema | None) -> Reading[None]:
        opener = yield from self.next()
        if opener in _CLOSERS:
            self.push(level, _level(opener, lead, schema))
            return
        word = yield from self._word()
        if word is None or _is_prefix(self.cursor.text, self.cursor.at, word):
            read = PythonString(self, word or "", Ends("," + level.closer, self._lenient), put).read
            yield from self.string(level, lead, schema)
        else:
            self.scalar(level, lead, self._constant(word))


def _level(opener: str, lead: str, schema: Subschema | None) -> Level:
    kind = {"[": "list", "(": "tuple", "{": "brace"}[opener]
    return Level(_CLOSERS[opener], kind, lead if opener == "{" else lead + "[", schema)
