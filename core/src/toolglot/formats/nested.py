"""Values as elements in elements: ``<stops><item><name>A</name></item></stops>``."""

from __future__ import annotations

import json
from random import Random as Rng
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from toolglot.errors import RenderError
from toolglot.formats.bare_value import Subschema, bare_value
from toolglot.formats.cursor import Stopped
from toolglot.formats.element_template import ElementTemplate, Slots, spaced
from toolglot.formats.markers import scan_of
from toolglot.formats.member_grammar import item_list
from toolglot.formats.synthesis import quote
from toolglot.formats.value_grammar import alternatives
from toolglot.formats.values import ValueRule, same
from toolglot.schemas.normal import Array, Node, Object, Union

if TYPE_CHECKING:
    from toolglot.formats.cursor import Reading
    from toolglot.formats.element_call import ElementReader
    from toolglot.formats.element_grammar import ElementGrammar

MAX_DEPTH = 128
"""How deep elements may be nested."""
_WRITTEN_DEPTH = 4
"""How deep the grammar nests elements. What is deeper is JSON, which is read too: schemas may refer to themselves."""
_FAR = 1 << 20
"""Behind every item that a schema names."""
_TEXT = "$text"
"""The member of an object that holds text beside its elements."""


class Nested(ValueRule, frozen=True):
    """Elements inside a value are an object or an array, text is by the tool's schema. ``item`` names the elements of
    arrays.

    The elements of a value are written as arguments are.
    """

    item: str = "item"

    def streams(self, slots: Slots, schema: Subschema | None) -> bool:
        # in the closer that a string is read up to, "~" would be whitespace
        return schema is not None and schema.types == {"string"} and "~" not in slots.get("key", "")

    def judge(self, text: str, slots: Slots, schema: Subschema | None) -> str:  # noqa: ARG002  # as above
        return _leaf(text, schema)

    def held(self, reader: ElementReader, slots: Slots, schema: Subschema | None) -> Reading[str]:
        stack = [_Element(slots["key"], schema)]
        while True:
            text, name, closes = yield from reader.tag()
            stack[-1].texts.append(text)
            if not closes:
                if len(stack) == MAX_DEPTH:
                    raise Stopped
                stack.append(_Element(name, self.below(stack[-1].schema, name, len(stack[-1].members))))
                continue
            if name != stack[-1].name:
                raise Stopped
            element = stack.pop()
            if not stack:
                return self._json(element)
            stack[-1].members.append((name, self._json(element)))

    def write(
        self,
        value: Any,
        slots: Slots,  # noqa: ARG002  # as above
        schema: Subschema | None,
        template: ElementTemplate,
        vary: Rng | None,
    ) -> str:
        return _Writer(self, template, vary).content(value, schema, depth=1)

    def closes(self, text: str, closer: str) -> bool:  # noqa: ARG002  # as above
        return True  # no text is written that holds a marker

    def excluded(self, template: ElementTemplate) -> tuple[str, ...]:
        return (template.head, template.closer_head)

    def forms(
        self, node: Node, schema: Subschema | None, grammar: ElementGrammar, depth: int
    ) -> list[tuple[Slots, str]]:
        options = list(alternatives(node, grammar.values.definitions))
        found = [grammar.framed(self._elements(one, schema, grammar, depth)) for one in options]
        as_text = [one for one, written in zip(options, found, strict=True) if written is None]
        found += grammar.bare.value(Union(tuple(as_text)), schema)
        return [({}, value) for value in found if value is not None]

    def _elements(self, node: Node, schema: Subschema | None, grammar: ElementGrammar, depth: int) -> str | None:
        """An object or array as elements; None where it is none, or would be read as something else."""
        types = schema.types if schema else frozenset()
        if depth == _WRITTEN_DEPTH or types == {"string"}:
            return None
        if isinstance(node, Array) and self.is_array([self.item], schema):
            return self._items(node, schema, grammar, depth + 1)
        names = [one.name for one in node.properties] if isinstance(node, Object) else []
        if not isinstance(node, Object) or not names or any(self.is_array([name], schema) for name in names):
            return None
        if schema is None or not schema.no_string or "array" in types or "object" not in types:
            node = replace(node, least=max(node.least, 1))  # nothing would be no object
        return grammar.members(node, schema, depth + 1)

    def _items(self, node: Array, schema: Subschema | None, grammar: ElementGrammar, depth: int) -> str | None:
        first = [grammar.element(self.item, one, self._item(schema, at), depth) for at, one in enumerate(node.first)]
        further = self._item(schema, _FAR)
        rest = None if node.rest is None else grammar.element(self.item, node.rest, further, depth)
        if schema is None or not schema.no_string or "array" not in schema.types:
            node = replace(node, least=max(node.least, 1))  # nothing would be no array
        return item_list(grammar.values.rules, node, first, rest, "")

    def _item(self, schema: Subschema | None, index: int) -> Subschema | None:
        return self.below(schema, self.item, index)

    def below(self, schema: Subschema | None, name: str, index: int) -> Subschema | None:
        """The schema of an element inside another."""
        if schema is None:
            return None
        array = schema.item(index) if self.is_array([name], schema) else None
        return array or schema.property(name)

    def is_array(self, names: list[str], schema: Subschema | None) -> bool:
        """Whether elements of these names are an array; otherwise they are an object."""
        types = schema.types if schema else frozenset()
        if ("array" in types) != ("object" in types):
            return "array" in types
        return all(name == self.item for name in names)

    def _json(self, element: _Element) -> str:
        text = "".join(element.texts)
        if not element.members:
            return _leaf(text, element.schema)
        members = element.members
        if not text.strip() and self.is_array([name for name, _ in members], element.schema):
            return f"[{', '.join(value for _, value in members)}]"
        if text.strip():
            members = [*members, (_TEXT, quote(text.strip()))]
        return _object(members)


class _Element:
    """An element that is being read."""

    __slots__ = ("members", "name", "schema", "texts")

    def __init__(self, name: str, schema: Subschema | None) -> None:
        self.name = name
        self.schema = schema
        self.texts: list[str] = []
        self.members: list[tuple[str, str]] = []


def _leaf(text: str, schema: Subschema | None) -> str:
    """The JSON of an element without elements."""
    if schema and not text.strip() and schema.no_string:
        for kind, empty in (("array", "[]"), ("object", "{}")):
            if kind in schema.types:
                return empty
    return bare_value(text, schema)


def _object(members: list[tuple[str, str]]) -> str:
    """An object; the values of a name that comes more than once are an array."""
    grouped: dict[str, list[str]] = {}
    for name, value in members:
        grouped.setdefault(name, []).append(value)
    values = {name: one[0] if len(one) == 1 else f"[{', '.join(one)}]" for name, one in grouped.items()}
    return "{" + ", ".join(f"{quote(name)}: {value}" for name, value in values.items()) + "}"


class _Writer:
    """Writes one value as elements."""

    def __init__(self, rule: Nested, template: ElementTemplate, vary: Rng | None) -> None:
        self._rule = rule
        self._template = template
        self._vary = vary

    def content(self, value: Any, schema: Subschema | None, depth: int) -> str:
        """What stands inside an element. Raises RenderError when it would be read as another value."""
        if not isinstance(value, dict | list):
            return self._text(value, schema)
        array = isinstance(value, list)
        members = [(self._rule.item, one) for one in value] if isinstance(value, list) else list(value.items())
        if not members:
            return self._text(value, schema, "")
        if depth == MAX_DEPTH or self._rule.is_array([name for name, _ in members], schema) != array:
            raise RenderError(f"{json.dumps(value)[:80]} cannot be written: it is nested too deep, or of no known type")
        if self._vary and not array:
            self._vary.shuffle(members)
        elements = [
            self._element(name, one, self._rule.below(schema, name, index), depth)
            for index, (name, one) in enumerate(members)
        ]
        return spaced("", self._vary) + "".join(elements)

    def _element(self, name: str, value: Any, schema: Subschema | None, depth: int) -> str:
        opener, closer = self._template.markers({"key": name}, None)
        return opener + self.content(value, schema, depth + 1) + closer + spaced("", self._vary)

    def _text(self, value: Any, schema: Subschema | None, text: str | None = None) -> str:
        if text is None:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        heads = (self._template.head, self._template.closer_head)
        marker = scan_of(heads).find(text + heads[1], 0, eof=True)
        if marker.start != len(text) or not same(json.loads(_leaf(text, schema)), value):
            raise RenderError(f"the value {text[:80]!r} cannot be written: it would be read as another")
        wide = spaced("", self._vary) + text + spaced("", self._vary)
        return wide if same(json.loads(_leaf(wide, schema)), value) else text
