"""What a grammar admits as JSON text: the normal form of a schema as EBNF.

Whitespace is bounded, and so are the digits of numbers: a small model can loop on them otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from toolglot.errors import GrammarError
from toolglot.formats.ebnf import Rules, text
from toolglot.formats.string_grammar import Strings
from toolglot.formats.value_grammar import ValueGrammar
from toolglot.schemas.language import Language
from toolglot.schemas.normal import Node, Normal, String
from toolglot.structural_tag import Grammar

MAX_WHITESPACE = 2
"""How much whitespace in a row the grammar admits in JSON: a small model can loop on it otherwise."""

_SPACE = f"[ \\n\\t]{{0,{MAX_WHITESPACE}}}"


def json_value(
    normal: Normal, excludes: tuple[str, ...] = (), *, any_order: bool = False, apart: bool = False
) -> Grammar:
    """The JSON text of a value that ``normal`` admits. None of ``excludes`` occurs in its strings as written.

    With ``any_order`` the members of an object come in any order; that they are there, and once, is then not held. With
    ``apart`` whitespace follows each opening brace, so that no object looks like a call.

    Raises:
        GrammarError: it is too large, or nothing that it admits can be written.
    """
    writer = (_Apart if apart else JsonGrammar)(normal.definitions, excludes, any_order=any_order)
    root = writer.value(normal.root)
    if root is None:
        raise GrammarError("a schema admits nothing that can be written", param="tools")
    return Grammar(writer.rules.grammar(root))


class JsonGrammar(ValueGrammar):
    """Writes the rules of JSON text. None of ``excludes`` occurs in strings as they are written."""

    comma = f'"," {_SPACE}'
    space = _SPACE
    colon = ":"

    def __init__(
        self,
        definitions: Mapping[str, Node],
        excludes: tuple[str, ...] = (),
        rules: Rules | None = None,
        *,
        any_order: bool = False,
    ) -> None:
        super().__init__(definitions, rules, any_order=any_order)
        self._strings = Strings(self.rules, excludes)

    def spelled(self, value: Any) -> str:
        """The JSON text of a value."""
        return self._strings.spelled(msgspec.json.encode(value).decode())

    def constant(self, value: Any) -> str | None:
        return text(self.spelled(value))

    def key(self, name: str) -> str | None:
        return f"{text(self.spelled(name) + self.colon)} {self.space}".strip()

    def other_key(self, names: Language | None, declared: tuple[str, ...]) -> str | None:
        key = self._strings.key(names, declared)
        return None if key is None else f"{key} {text(self.colon)} {self.space}".strip()

    def string(self, node: String) -> str | None:
        return self._strings.value(node)


class _Apart(JsonGrammar):
    """Objects that look like no call."""

    brace = "{ "
