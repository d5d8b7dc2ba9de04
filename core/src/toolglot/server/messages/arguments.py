"""Arguments, which a model writes as text, as the object that Anthropic's API has for them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

import msgspec

_HEX = "[0-9a-fA-F]"
_HIGH = rf"\\u[dD][89abAB]{_HEX}{{2}}"
_ESCAPE = rf'\\["\\/bfnrt]|\\u(?![dD][89a-fA-F]){_HEX}{{4}}|{_HIGH}\\u[dD][c-fC-F]{_HEX}{{2}}'
_IN_STRING = re.compile(rf'[^"\\\x00-\x1f]++|{_ESCAPE}|"')
_WORD = r"[-+.\w]{1,1000}"  # nobody means a longer number, and JSON readers refuse it
_ELSEWHERE = re.compile(rf'[ \t\r\n]++|[{{}}\[\],:"]|{_WORD}+(?=[^-+.\w])')
_BEGUN = re.compile(rf"{_WORD}|(?:{_HIGH})?\\(?:u{_HEX}{{0,3}})?|{_HIGH}")
"""What may become a lexeme when more comes."""
_MOST_OPEN = 128
"""How deep arguments may be; clients' JSON readers take about 200."""
_CLOSERS = {"{": "}", "[": "]"}

_State: TypeAlias = Literal["start", "first_key", "key", "in_key", "colon", "first_value", "value", "in_value", "after"]


def input_object(arguments: str) -> tuple[dict[str, Any], bool]:
    """The object that ``arguments`` spells, and whether it is all of it.

    Of text that is no JSON object, cut or broken, it is the members and elements that are complete before the fault.
    """
    reader = ArgumentsReader()
    sound = reader.feed(arguments)[: reader.sound] + reader.closers
    return _decoded(sound or "{}"), reader.complete or not arguments


class ArgumentsReader:
    """Reads arguments as they come: :meth:`feed` for each piece, then :meth:`close`.

    What these return is the beginning of a JSON object, whatever the model writes: nothing comes after a fault, and
    nothing before it is known to be none.
    """

    def __init__(self) -> None:
        self.sound = 0
        """How many of the characters that were returned are complete members and elements."""
        self._returned = 0
        self._open: list[str] = []
        self._state: _State = "start"
        self._faulty = False
        self._begun = ""
        self._held: list[str] = []

    @property
    def closers(self) -> str:
        """What closes all that is open."""
        return "".join(_CLOSERS[opener] for opener in reversed(self._open))

    @property
    def complete(self) -> bool:
        """Whether all that was fed is one object."""
        return self._state == "after" and not (self._open or self._begun or self._faulty)

    def feed(self, text: str) -> str:
        """What can be told by now: text of strings at once, a key or another value when it is complete."""
        return "".join(map(self._take, self._lexemes(self._begun + text)))

    def close(self) -> str:
        """What makes an object of all that :meth:`feed` returned. Nothing if that ends within a string, which cannot be
        taken back: readers of partial JSON leave that string out.
        """
        if not self._returned:
            return "{}"
        return "" if self._state == "in_value" else self.closers

    def _lexemes(self, text: str) -> Iterator[str]:
        at, self._begun = 0, ""
        while at < len(text) and not self._faulty:
            found = (_IN_STRING if self._state in ("in_key", "in_value") else _ELSEWHERE).match(text, at)
            if found is None:
                self._faulty = _BEGUN.fullmatch(text, at) is None
                self._begun = "" if self._faulty else text[at:]
                return
            at = found.end()
            yield found[0]

    def _take(self, lexeme: str) -> str:
        if not self._step(lexeme):
            self._faulty = True
            return ""
        self._held.append(lexeme)
        closable = self._state in ("after", "first_key", "first_value")
        if not closable and self._state != "in_value":
            return ""
        told, self._held = "".join(self._held), []
        self._returned += len(told)
        self.sound = self._returned if closable else self.sound
        return told

    def _step(self, lexeme: str) -> bool:
        """Go on by one lexeme; False where it cannot stand here."""
        match self._state, lexeme:
            case "in_key" | "in_value", _:
                if lexeme == '"':
                    self._state = "colon" if self._state == "in_key" else "after"
            case ("start" | "value" | "first_value", "{") | ("value" | "first_value", "["):
                return self._enter(lexeme)
            case "after" | "first_key" | "first_value", "}" | "]":
                return self._leave(lexeme)
            case "after", "," if self._open:
                self._state = "key" if self._open[-1] == "{" else "value"
            case "colon", ":":
                self._state = "value"
            case "key" | "first_key", '"':
                self._state = "in_key"
            case "value" | "first_value", '"':
                self._state = "in_value"
            case "value" | "first_value", _ if lexeme == "null" or _decoded(lexeme) is not None:
                self._state = "after"
            case _:
                return lexeme.isspace()
        return True

    def _enter(self, opener: str) -> bool:
        if len(self._open) == _MOST_OPEN:
            return False
        self._open.append(opener)
        self._state = "first_key" if opener == "{" else "first_value"
        return True

    def _leave(self, closer: str) -> bool:
        if not self._open or _CLOSERS[self._open[-1]] != closer:
            return False
        self._open.pop()
        self._state = "after"
        return True


def _decoded(text: str) -> Any:
    """The JSON value; None where it is no JSON."""
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # JSON has no lone surrogates
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None
