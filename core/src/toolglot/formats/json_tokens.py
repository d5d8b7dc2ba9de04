"""JSON text as a series of tokens, to be written in another way without a look at how deep it goes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import msgspec

from toolglot.errors import RenderError

if TYPE_CHECKING:
    from toolglot.events import Call

Kind: TypeAlias = Literal["key", "string", "scalar", "open", "close", "comma"]

_TOKEN = re.compile(r'("(?:[^"\\]|\\.)*+")(?:[ \t\r\n]*+(:))?|([{\[])|([}\]])|(,)|([^\s{}\[\],:"]++)', re.DOTALL)


class JsonToken(NamedTuple):
    """A token: the text of a key or string is what it says, of others how they are written."""

    kind: Kind
    text: str


def tokens(json_text: str) -> Iterator[JsonToken]:
    """The tokens of a JSON text that is valid. The colon belongs to its key."""
    for found in _TOKEN.finditer(json_text):
        string, colon, opener, closer, comma, scalar = found.groups()
        if string:
            yield JsonToken("key" if colon else "string", said(string))
        elif opener:
            yield JsonToken("open", opener)
        elif closer:
            yield JsonToken("close", closer)
        else:
            yield JsonToken("comma" if comma else "scalar", comma or scalar)


def said(string: str) -> str:
    """What a JSON string says."""
    return msgspec.json.decode(string, type=str)


def members(call: Call) -> dict[str, str]:
    """The JSON of each argument of a call.

    Raises:
        RenderError: the arguments are no JSON object.
    """
    try:
        raw = msgspec.json.decode(call.arguments, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, RecursionError):
        raise RenderError(f"the arguments of {call.name!r} are no JSON object") from None
    return {key: bytes(value).decode() for key, value in raw.items()}


def require_same(call: Call, read_back: str | None) -> None:
    """Raise RenderError where what is read back is not what was to be written."""
    if read_back is None or _sorted(read_back) != _sorted(call.arguments):
        raise RenderError(f"the arguments of {call.name!r} cannot be written so that they are read alike")


def _sorted(json_text: str) -> bytes | None:
    """A JSON text in one spelling; None where it is none."""
    try:
        return msgspec.json.encode(msgspec.json.decode(json_text), order="sorted")
    except (msgspec.DecodeError, RecursionError):
        return None
