"""What the benchmarks read: outputs of every family, cut into tokens."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from toolglot import Message, Parser
from toolglot.testing import hostile
from toolglot.testing.markers import Markers, canonical

TOKEN = 4
"""The characters of a token. A marker that can be a token is one, however long it is."""
LENGTHS = (500, 2000, 9000)
"""Tokens in a string argument, or in prose."""
UNITS = ("openers", "braces", "whitespace", "half closers")
PLACES = ("alone", "after an opener", "in a call")
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "write_note",
        "parameters": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    },
}

_TEXT = 'She wrote "yes" on line 2,\n  then <b>naïve</b> words; {1} [2]\t'
_PROSE = "Some plain prose with a few words. "


def call(parser: Parser, tokens: int) -> list[str]:
    """A call with one string argument of ``tokens`` tokens, as the parser's family writes it.

    Raises:
        PluginError: the parser cannot render calls.
    """
    arguments = {"text": hostile.repeated(_TEXT, TOKEN * tokens)}
    return _cut(_render(parser, arguments), markers(parser).tokens)


def prose(tokens: int) -> list[str]:
    """Plain text."""
    return _cut(hostile.repeated(_PROSE, TOKEN * tokens), ())


def flood(parser: Parser, unit: str, place: str, characters: int) -> list[str]:
    """One of UNITS, repeated to a length in one of PLACES, and cut into pieces of four tokens.

    Raises:
        PluginError: the parser cannot render calls.
    """
    found = markers(parser)
    opener, closer = (next(iter(map(canonical, texts)), "{") for texts in (found.openers, found.closers))
    units = {"openers": opener, "braces": "{", "whitespace": " ", "half closers": closer[:-1] or closer}
    text = hostile.repeated(units[unit], characters)
    before, _, after = _render(parser, {"text": "here"}).partition("here")
    places = {"alone": text, "after an opener": opener + text, "in a call": before + text + after}
    return _pieces(places[place], 4 * TOKEN)


def read(parser: Parser, deltas: Iterable[str]) -> Message:
    """Read an output through the public stream API."""
    stream = parser.stream(tools=[TOOL])
    for delta in deltas:
        stream.feed(delta)
    stream.finish()
    return stream.message


def markers(parser: Parser) -> Markers:
    """The markers of a parser's format."""
    return Markers.of(parser.plugin.form)


def _render(parser: Parser, arguments: dict[str, str]) -> str:
    return parser.render([{"name": "write_note", "arguments": arguments}], tools=[TOOL])


def _cut(text: str, tokens: Sequence[str]) -> list[str]:
    """Text as tokens; ``tokens`` are those that are longer than others."""
    if not tokens:
        return _pieces(text, TOKEN)
    split = re.split(f"({'|'.join(map(re.escape, sorted(tokens, key=len, reverse=True)))})", text)
    return [token for number, piece in enumerate(split) for token in ([piece] if number % 2 else _pieces(piece, TOKEN))]


def _pieces(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]
