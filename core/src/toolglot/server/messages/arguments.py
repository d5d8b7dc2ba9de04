"""Arguments, which a model writes as text, as the object that Anthropic's API has for them."""

from __future__ import annotations

import re
from typing import Any, Literal, TypeAlias

import msgspec

_SPACE = r"[ \t\r\n]*+"
_STRING = r'"[^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*+"'
_WORD = r"[-+.\w]++(?=[ \t\r\n,\]}])"  # at the end of the text, it may be the beginning of a longer one
_TOKEN = re.compile(rf"{_SPACE}({_STRING}|{_WORD}|[{{}}\[\],:])")
_CLOSERS = {"{": "}", "[": "]"}

_State: TypeAlias = Literal["first_key", "key", "colon", "first_value", "value", "after"]


def input_object(arguments: str) -> tuple[dict[str, Any], bool]:
    """The object that ``arguments`` spells, and whether it is all of it.

    Of text that is no JSON object, cut or broken, it is the members and elements that are complete before the fault.
    """
    if not arguments:
        return {}, True
    text = arguments.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # JSON has no lone surrogates
    whole = _decoded(text)
    if isinstance(whole, dict):
        return whole, True
    part = _decoded(_sound_part(text))
    return (part if isinstance(part, dict) else {}), False


def _decoded(text: str) -> Any:
    """The JSON value; None where it is no JSON."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None


def _sound_part(text: str) -> str:
    """The beginning of ``text``, up to its last complete value, with all closed that is open there."""
    reader = _Reader()
    at = sound = 0
    while (token := _TOKEN.match(text, at)) is not None and reader.take(token[1]):
        at = token.end()
        sound = at if reader.may_close else sound
    return text[:sound] + "".join(_CLOSERS[opener] for opener in reversed(reader.open))


class _Reader:
    """Where in a JSON value one is."""

    def __init__(self) -> None:
        self.open: list[str] = []
        """The brackets that are open."""
        self._state: _State = "value"

    @property
    def may_close(self) -> bool:
        """Whether what is open could be closed here."""
        return self._state in ("after", "first_key", "first_value")

    def take(self, lexeme: str) -> bool:
        """Go on by one token; False where it cannot stand here."""
        match self._state, lexeme:
            case "value" | "first_value", "{" | "[":
                self.open.append(lexeme)
                self._state = "first_key" if lexeme == "{" else "first_value"
            case "after" | "first_key" | "first_value", "}" | "]":
                return self._close(lexeme)
            case "after", "," if self.open:
                self._state = "key" if self.open[-1] == "{" else "value"
            case "colon", ":":
                self._state = "value"
            case "key" | "first_key", _ if lexeme[0] == '"' and _decoded(lexeme) is not None:
                self._state = "colon"
            case "value" | "first_value", _ if lexeme == "null" or _decoded(lexeme) is not None:
                self._state = "after"
            case _:
                return False
        return True

    def _close(self, lexeme: str) -> bool:
        if not self.open or _CLOSERS[self.open[-1]] != lexeme:
            return False
        self.open.pop()
        self._state = "after"
        return True
