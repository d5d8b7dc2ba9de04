"""Writing JSON values as Python literals: canonically, or in any way that the reader grants."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from random import Random as Rng
from typing import Literal, TypeAlias

from toolglot.formats.json_tokens import JsonToken, tokens
from toolglot.formats.python_literal import QUOTES
from toolglot.formats.synthesis import quote

Literals: TypeAlias = Literal["python", "json"]

_PYTHON = {"true": "True", "false": "False", "null": "None"}
_INTEGER = re.compile(r"-?[0-9]{1,60}")
_SPACE = ("", "", "", " ", "\n", "  \t")
_ALIKE = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\b": "\\b", "\f": "\\f", "\a": "\\a", "\v": "\\v"}


def python_text(json_text: str, literals: Literals, vary: Rng | None) -> str:
    """A JSON value as a Python literal."""
    found = list(tokens(json_text))
    return _canonical(found, literals) if vary is None else _Varied(vary).write(found)


def _canonical(found: Sequence[JsonToken], literals: Literals) -> str:
    written = []
    for kind, text in found:
        match kind:
            case "key":
                written.append(f"{quote(text)}: ")
            case "string":
                written.append(quote(text))
            case "comma":
                written.append(", ")
            case _:
                written.append(_PYTHON.get(text, text) if literals == "python" else text)
    return "".join(written)


class _Varied:
    """Writes in any way that the reader grants."""

    def __init__(self, rng: Rng) -> None:
        self._rng = rng
        self._written: list[str] = []
        self._closers: list[str] = []

    def write(self, found: Sequence[JsonToken]) -> str:
        for number, (kind, text) in enumerate(found):
            match kind:
                case "key":
                    self._put(self._key(text), ":")
                case "string":
                    self._put(varied_string(text, self._rng))
                case "scalar":
                    self._put(self._scalar(text))
                case "open":
                    self._open(text, found, number)
                case "close":
                    self._close(found, number)
                case "comma":
                    self._put(",")
        return "".join(self._written)

    def _put(self, *pieces: str) -> None:
        for piece in pieces:
            self._written += [piece, self._rng.choice(_SPACE)]

    def _key(self, text: str) -> str:
        number = _INTEGER.fullmatch(text) and str(int(text)) == text
        return text if number and self._rng.random() < 0.3 else varied_string(text, self._rng)

    def _scalar(self, text: str) -> str:
        if text in _PYTHON:
            return self._rng.choice((text, _PYTHON[text]))
        choices = [text]
        if _INTEGER.fullmatch(text) and text != "-0":
            digits, sign = text.lstrip("-"), "-" if text[0] == "-" else self._rng.choice(("", "+"))
            choices += [sign + digits, sign + "00" + digits, sign + "_".join(digits), sign + hex(int(digits))]
        if text.endswith(".0"):
            choices.append(text[:-1])
        if text.startswith("0."):
            choices.append(text[1:])
        return self._rng.choice(choices)

    def _open(self, text: str, found: Sequence[JsonToken], number: int) -> None:
        opener, closer = text, "}"
        if text == "[":
            kinds = ("[]", "()", "{}") if _could_be_a_set(found, number) else ("[]", "()")
            opener, closer = tuple(self._rng.choice(kinds))
        self._closers.append(closer)
        self._put(opener)

    def _close(self, found: Sequence[JsonToken], number: int) -> None:
        closer = self._closers.pop()
        before = found[number - 1].kind
        one = closer == ")" and before != "open" and _is_only_item(found, number)
        if one or (before != "open" and self._rng.random() < 0.2):
            self._put(",")
        self._put(closer)


def _could_be_a_set(found: Sequence[JsonToken], number: int) -> bool:
    """Whether the array that opens here holds something, and only scalars."""
    at = number + 1
    while found[at].kind in ("string", "scalar", "comma"):
        at += 1
    return found[at].kind == "close" and at > number + 1


def _is_only_item(found: Sequence[JsonToken], number: int) -> bool:
    """Whether the array that closes here holds one item."""
    depth = 0
    for kind, _ in reversed(found[:number]):
        depth += (kind == "close") - (kind == "open")
        if depth < 0:
            return True
        if kind == "comma" and not depth:
            return False
    raise AssertionError("the array was opened")


def varied_string(text: str, rng: Rng, *, prefixes: bool = True) -> str:
    """A string as some Python literal, with a prefix or without."""
    mark = rng.choice(QUOTES)
    fence = mark * rng.choice((1, 1, 3))
    if prefixes and rng.random() < 0.2 and not set(text) & {"\\", mark}:
        return rng.choice("rR") + fence + text + fence
    prefix = rng.choice(("", "", "", "u", "b", "f", "F")) if prefixes else ""
    braces = "{}" if prefix.lower() == "f" else ""
    pieces = [_char(char, char * 2 if char in braces else char, mark, rng) for char in text]
    return prefix + fence + "".join(pieces) + fence


def _char(char: str, plain: str, mark: str, rng: Rng) -> str:
    """A character as it is (``plain``) or as an escape."""
    if char in ("\\", mark):
        return "\\" + char
    if rng.random() < 0.8:
        return plain
    code = ord(char)
    choices = [f"\\U{code:08x}", "\\\n" + plain, _ALIKE.get(char, plain)]
    choices += [f"\\u{code:04x}"] if code < 0x10000 else []
    choices += [f"\\x{code:02x}", f"\\{code:03o}"] if code < 0x100 else []
    choices += [f"\\N{{{unicodedata.name(char)}}}"] if unicodedata.name(char, "") else []
    choices += ["\\/"] if char == "/" and mark == '"' else []
    return rng.choice(choices)
