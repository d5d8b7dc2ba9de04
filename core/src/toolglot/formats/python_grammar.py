"""What a grammar admits as Python arguments: keywords in the order of the schema, values as Python or JSON literals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from toolglot.formats.ebnf import text
from toolglot.formats.json_grammar import JsonGrammar
from toolglot.formats.python_literal import is_keyword
from toolglot.formats.python_text import Literals, python_text
from toolglot.formats.signature import Signature
from toolglot.formats.text_grammar import free_names
from toolglot.schemas.language import Language
from toolglot.schemas.normal import Node
from toolglot.structural_tag import Grammar


class PythonGrammar(JsonGrammar):
    """Values as Python or JSON literals, spaced as Python spaces them."""

    comma = '", "'
    space = ""
    colon = ": "

    def __init__(self, definitions: Mapping[str, Node], literals: Literals, *, any_order: bool = False) -> None:
        super().__init__(definitions, any_order=any_order)
        self._literals = literals

    def spelled(self, value: Any) -> str:
        return python_text(msgspec.json.encode(value).decode(), self._literals, None)


class Keywords:
    """The keywords of a call."""

    def __init__(self, grammar: PythonGrammar) -> None:
        self._rules = grammar.rules

    def key(self, name: str) -> str | None:
        return text(f"{name}=") if is_keyword(name) else None

    def other_key(self, names: Language | None, declared: tuple[str, ...]) -> str | None:
        found = free_names(self._rules, names, declared)
        return None if found is None else f'{found} "="'


def keyword_arguments(signature: Signature, literals: Literals) -> Grammar:
    """What stands between the parentheses of a call.

    Raises:
        GrammarError: the schema admits nothing that could be written.
    """
    grammar = PythonGrammar(signature.arguments.definitions, literals, any_order=signature.any_order)
    keywords = Keywords(grammar)
    return signature.grammar(grammar, [grammar.members(one, keywords) for one in signature.objects])
