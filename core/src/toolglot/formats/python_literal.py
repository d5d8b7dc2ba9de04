"""Python literals as JSON: strings of every kind, numbers, constants, lists, tuples, sets, dicts."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, NamedTuple

from toolglot.formats.cursor import Cursor, Failed, Reading
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


def literal(text: str, schema: Subschema | None = None) -> str | None:
    """The JSON of a text that is one Python list, tuple, set or dict; None where it is none."""
    cursor, sink = Cursor.over(text), Collected()
    reader = PythonReader(cursor, sink, lenient=False)
    try:
        for _ in reader.container(schema):
            raise AssertionError("the text is whole")
    except (Failed, Cut):
        return None
    return None if cursor.text[cursor.at :].strip(WHITESPACE) else sink.text


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
                pieces.append(text[at:end])
            at = end if end == len(text) else self._special(text, end, pieces)
            if at == end:
                break
        self._cursor.take(at)
        if pieces:
            self._put(self._sink.expand("".join(pieces)))

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
