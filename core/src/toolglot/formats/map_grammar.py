"""What a grammar admits as a map: keys in the order of the schema, strings between their marker.

Where all values stand between it (see ``quoted="all"``), those that are no strings are JSON there.
"""

from __future__ import annotations

from typing import Any

import msgspec

from toolglot.formats.bare_grammar import BareGrammar, other_than
from toolglot.formats.bare_value import Subschema
from toolglot.formats.ebnf import text
from toolglot.formats.json_grammar import JsonGrammar
from toolglot.formats.map_reader import Quoting, is_bare
from toolglot.formats.signature import Signature
from toolglot.formats.synthesis import quote
from toolglot.formats.text_grammar import TextGrammar, free_names
from toolglot.formats.value_grammar import ValueGrammar
from toolglot.schemas.language import Language
from toolglot.schemas.normal import Node, Object, Others, String
from toolglot.structural_tag import Grammar


class MapGrammar(ValueGrammar):
    """Values as in a map whose strings are marked."""

    comma = '","'

    def __init__(self, signature: Signature, form: Quoting) -> None:
        super().__init__(signature.arguments.definitions, any_order=signature.any_order)
        self._form = form
        mark = signature.marker(form.quote)
        self.texts = TextGrammar(self.rules, (form.quote,), before=mark, behind=mark)

    def constant(self, value: Any) -> str | None:
        if not isinstance(value, str):
            return text(msgspec.json.encode(value).decode())
        return text(quote(value)) if self._form.quote in value else self.texts.constant(value)

    def string(self, node: String) -> str | None:
        return self.either("text", [*self.texts.string(node)])

    def key(self, name: str) -> str | None:
        key = text(name) if is_bare(name, self._form.quote) else self.constant(name)
        return None if key is None else f'{key} ":"'

    def other_key(self, names: Language | None, declared: tuple[str, ...]) -> str | None:
        found = free_names(self.rules, names, declared)
        return None if found is None else f'{found} ":"'


class _Arguments:
    """The arguments of a call, all in quotes, as they are read: by the schema."""

    def __init__(self, signature: Signature, form: Quoting) -> None:
        self._schema = signature.schema
        self.grammar = MapGrammar(signature, form)
        values = JsonGrammar(
            signature.arguments.definitions, (form.quote,), self.grammar.rules, any_order=signature.any_order
        )
        self._mark = signature.marker(form.quote)
        self._quoted = BareGrammar(values, (TextGrammar(self.grammar.rules, (form.quote,)),))

    def members(self, node: Object) -> str | None:
        declared = [
            (one, self._member(self.grammar.key(one.name), one.value, self._below(one.name))) for one in node.properties
        ]
        others = [self._other(node, one) for one in node.others]
        return self.grammar.listed(node, declared, others, self.grammar.comma)

    def _below(self, name: str) -> Subschema | None:
        return self._schema and self._schema.property(name)

    def _other(self, node: Object, others: Others) -> str | None:
        key = self.grammar.other_key(others.names, other_than(node, others, self._schema))
        return self._member(key, others.value, self._schema and self._schema.others())

    def _member(self, key: str | None, node: Node, schema: Subschema | None) -> str | None:
        value = self._value(node, schema)
        return None if key is None or value is None else f"{key} {value}"

    def _value(self, node: Node, schema: Subschema | None) -> str | None:
        if schema is None or schema.string_only:  # then the reader takes what is in no quotes as what it is
            return self.grammar.value(node)
        values = self._quoted.value(node, schema)
        return self.grammar.either("quoted", [f"{self._mark} {value} {self._mark}" for value in values])


def map_members(signature: Signature, form: Quoting) -> Grammar:
    """What stands between the braces of a call.

    Raises:
        GrammarError: the schema admits nothing that could be written.
    """
    if form.quoted == "all":
        arguments = _Arguments(signature, form)
        return signature.grammar(arguments.grammar, [arguments.members(one) for one in signature.objects])
    grammar = MapGrammar(signature, form)
    return signature.grammar(grammar, [grammar.members(one) for one in signature.objects])
