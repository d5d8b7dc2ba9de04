"""What a model may write as the elements of a call: every parameter in the order of the schema, canonically spaced.

A string is any text without the closer, so that the first closer ends it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from toolglot.errors import RenderError
from toolglot.formats.bare_grammar import BareGrammar, other_than
from toolglot.formats.json_grammar import JsonGrammar
from toolglot.formats.templates import fill, parts_of
from toolglot.formats.text_grammar import TextGrammar, free_names
from toolglot.schemas.normal import Node, Object, Others, Property
from toolglot.structural_tag import Grammar

if TYPE_CHECKING:
    from toolglot.formats.bare_value import Subschema
    from toolglot.formats.element_template import ElementTemplate, Slots
    from toolglot.formats.signature import Signature
    from toolglot.formats.values import ValueRule

_SIGNS = ".-"
"""What the name of a parameter that the tool does not declare may hold besides letters, digits and ``_``."""


class ElementGrammar:
    """The grammar of one tool's arguments."""

    def __init__(self, signature: Signature, template: ElementTemplate, rule: ValueRule) -> None:
        self._signature = signature
        self._template = template
        self._rule = rule
        excludes = (*rule.excluded(template), *(rule.quotes or ())[:1])
        definitions = signature.arguments.definitions
        self.values = JsonGrammar(definitions, excludes, any_order=signature.any_order)
        self._trail = self._marker(template.trail)
        self.bare = BareGrammar(self.values, [*self._texts(excludes)], self._trail)
        """Values as text, with the whitespace that frames them."""

    def arguments(self) -> Grammar:
        """All arguments.

        Raises:
            GrammarError: the schema admits nothing that could be written.
        """
        found = [self.members(one, self._signature.schema, 0) for one in self._signature.objects]
        return self._signature.grammar(self.values, found)

    def members(self, node: Object, schema: Subschema | None, depth: int) -> str | None:
        """The members of an object, each as an element. ``depth``: in how many other elements they stand."""
        if self._template.keyed:
            node = _named(node, schema.names if schema else ())
        declared = [
            (one, self.element(one.name, one.value, schema and schema.property(one.name), depth))
            for one in node.properties
        ]
        others = [] if depth else [self._other(node, one, schema) for one in node.others]
        return self.values.listed(node, declared, others, "", any_order=not depth)

    def framed(self, value: str | None) -> str | None:
        """A value that is no text, with the whitespace behind it."""
        return None if value is None else f"{value} {self._trail}".strip()

    def element(self, key: str, node: Node, schema: Subschema | None, depth: int) -> str | None:
        """One element."""
        try:
            forms = [
                (self._template.markers({"key": key, **slots}, None)[0], value)
                for slots, value in self._rule.forms(node, schema, self, depth)
            ]
        except RenderError:
            return None
        return self._framed([(self._marker(opener), value) for opener, value in forms], key)

    def _other(self, node: Object, others: Others, schema: Subschema | None) -> str | None:
        """An element of which the tool does not declare the name."""
        taken = other_than(node, others, schema)
        key = None if self._template.keyed else free_names(self.values.rules, others.names, taken, _SIGNS)
        if key is None:
            return None
        forms = self._rule.forms(others.value, schema and schema.others(), self, 0)
        return self._framed([(self._opener(key, slots), value) for slots, value in forms], "")

    def _opener(self, key: str, slots: Slots) -> str:
        """An opener, with an expression for its key."""
        pieces = []
        for part in parts_of(self._template.openers[0]):
            if part.value != "key":
                pieces.append(self._marker(fill([part], slots)))
            else:
                pieces.append(key if part.kind == "word" else f'"\\"" {key} "\\""')
        return " ".join(filter(None, pieces))

    def _framed(self, forms: list[tuple[str, str]], key: str) -> str | None:
        """An element with one of several openers, and the value that belongs to each."""
        template = self._template
        lead = self._marker(template.gap + template.mark + template.lead)
        behind = self._marker(template.closed({"key": key}) + template.tail)
        return self.values.either(
            "element", [" ".join(filter(None, (opener, lead, value, behind))) for opener, value in forms]
        )

    def _texts(self, excludes: tuple[str, ...]) -> Iterator[TextGrammar]:
        """Strings as they are, and in quotes where there are such."""
        rules, not_first = self.values.rules, "\n" if self._template.loose else ""
        trail = len(self._template.trail)
        yield TextGrammar(rules, excludes, behind=self._trail, trail=trail, not_first=not_first)
        if self._rule.quotes:
            before, behind = map(self._marker, self._rule.quotes)
            yield TextGrammar(rules, self._rule.quotes[1:], before=before, behind=behind)

    def _marker(self, marker: str) -> str:
        return self._signature.marker(marker) if marker else ""


def _named(node: Object, names: tuple[str, ...]) -> Object:
    """The object with the members that ``names`` tells, where it may have others: it can have no others but these."""
    free = next((others.value for others in node.others if others.names is None), None)
    if free is None:
        return node
    declared = {one.name for one in node.properties}
    more = tuple(Property(name, free) for name in names if name not in declared)
    return replace(node, properties=node.properties + more)
