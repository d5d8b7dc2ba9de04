"""Writing maps with bare keys, and with a marker for a quote: ``{city:<|"|>Oslo<|"|>,days:3}``."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random as Rng
from typing import TYPE_CHECKING

from toolglot.formats.json_tokens import JsonToken, tokens
from toolglot.formats.map_reader import Quoting, is_bare
from toolglot.formats.python_text import python_text, varied_string
from toolglot.formats.synthesis import quote

if TYPE_CHECKING:
    from toolglot.formats.bare_value import Subschema

_SPACE = ("", "", "", " ", "\n", "  \t")
_CONSTANTS = {"true": "True", "false": "False", "null": "None"}


class MapWriter:
    """Writes a map. With ``vary`` in any way that the reader grants."""

    def __init__(self, form: Quoting, vary: Rng | None) -> None:
        self._form = form
        self._vary = vary
        self._arguments: list[str] = []

    @property
    def text(self) -> str:
        """All arguments."""
        opener, closer = self._vary.choice((("{", "}"), ("(", ")"))) if self._vary else ("{", "}")
        trailing = "," if self._arguments and self._chance(0.1) else ""
        return opener + self._space() + ",".join(self._arguments) + trailing + self._space() + closer

    def argument(self, key: str, value: str, schema: Subschema | None) -> None:
        """Add one."""
        found = list(tokens(value))
        if found[0].kind == "string":
            written = self._string(found[0].text)
        else:
            written = self._wrapped(value, schema) or self.value(found)
        self._arguments.append(f"{self.key(key)}{self._space()}:{self._space()}{written}{self._space()}")

    def _wrapped(self, value: str, schema: Subschema | None) -> str | None:
        """A value as JSON in quotes; None where it would be read as a string, or the quote is in it."""
        if self._form.quoted != "all" or schema is None or schema.string_only or self._chance(0.2):
            return None
        text = python_text(value, "json", self._vary if schema.no_string else None)  # `0.` could be a string
        return None if self._form.quote in text else self._quoted(text)

    def value(self, found: Iterable[JsonToken]) -> str:
        """A value in which strings are marked."""
        written = []
        for kind, text in found:
            match kind:
                case "key":
                    written += [self.key(text), self._space(), ":"]
                case "string":
                    written.append(self._string(text))
                case "scalar" if self._chance(0.5):
                    written.append(_CONSTANTS.get(text, text))
                case _:
                    written.append(text)
            written.append(self._space())
        return "".join(written)

    def key(self, key: str) -> str:
        """A key, bare where it can be."""
        if is_bare(key, self._form.quote) and not self._chance(0.2):
            return self._space() + key
        return self._space() + self._string(key)

    def _string(self, text: str) -> str:
        if self._form.quote in text or self._chance(0.2):
            return _plainly(text, self._vary)
        return self._quoted(text)

    def _quoted(self, text: str) -> str:
        return self._form.quote + text + self._form.quote

    def _chance(self, share: float) -> bool:
        return self._vary is not None and self._vary.random() < share

    def _space(self) -> str:
        return self._vary.choice(_SPACE) if self._vary else ""


def _plainly(text: str, vary: Rng | None) -> str:
    """A string in ordinary quotes."""
    return quote(text) if vary is None else varied_string(text, vary, prefixes=False)
