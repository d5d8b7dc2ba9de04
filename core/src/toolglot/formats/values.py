"""How the text of an argument becomes JSON: the rules for the values of elements.

Each says which values are strings, whose text can be passed on as it comes, what any other text is, and how a value is
written so that it is read back.
"""

from __future__ import annotations

import json
from random import Random as Rng
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from toolglot.errors import RenderError
from toolglot.formats.bare_grammar import no_strings, type_name, type_of
from toolglot.formats.bare_value import Subschema, bare_value, string_only
from toolglot.formats.element_template import ElementTemplate, Slots, spaced
from toolglot.formats.json_text import decode
from toolglot.formats.markers import scan_of
from toolglot.formats.value_grammar import alternatives

if TYPE_CHECKING:
    from toolglot.formats.cursor import Reading
    from toolglot.formats.element_call import ElementReader
    from toolglot.formats.element_grammar import ElementGrammar
    from toolglot.schemas.normal import Node


class ValueRule(Struct, frozen=True):
    """What decides the type of a value."""

    @property
    def attributes(self) -> tuple[str, ...]:
        """The slots that say the type; a model may leave them out."""
        return ()

    @property
    def words(self) -> frozenset[str]:
        """What these slots may hold, in lower case."""
        return frozenset()

    @property
    def quotes(self) -> tuple[str, str] | None:
        """What may stand around a value's text so that it can hold anything else."""
        return None

    def streams(self, slots: Slots, schema: Subschema | None) -> bool:
        """Whether the value is a string for certain, whatever its text."""
        raise NotImplementedError

    def judge(self, text: str, slots: Slots, schema: Subschema | None) -> str:
        """The JSON of a whole value that does not stream."""
        raise NotImplementedError

    def unknown(self, slots: Slots) -> list[str]:
        """The slots that hold something else, which says nothing of the type."""
        return [name for name in self.attributes if name in slots and slots[name].strip().lower() not in self.words]

    def held(self, reader: ElementReader, slots: Slots, schema: Subschema | None) -> Reading[str]:
        """Read a value that does not stream, and its closer. Returns its JSON."""
        return self.judge((yield from reader.text(slots)), slots, schema)

    def slots(self, value: Any) -> Slots:  # noqa: ARG002  # for those with attributes
        """What the attributes say of a decoded value."""
        return {}

    def write(
        self,
        value: Any,
        slots: Slots,
        schema: Subschema | None,
        template: ElementTemplate,  # noqa: ARG002  # for those that write elements
        vary: Rng | None,
    ) -> str:
        """The text of a decoded value.

        Raises:
            RenderError: it would be read as another value.
        """
        plain = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if not self._says(plain, value, slots, schema):
            raise RenderError(f"the value {plain[:80]!r} cannot be written: it would be read as one of another type")
        if vary is None or isinstance(value, str):
            return self._quoted(plain)
        other = vary.choice((plain, str(value), json.dumps(value), json.dumps(value, indent=1)))
        other = spaced("", vary) + other + spaced("", vary)
        return other if self._says(other, value, slots, schema) else plain

    def closes(self, text: str, closer: str) -> bool:
        """Whether a value written as ``text`` ends with the ``closer`` behind it, and not before."""
        hit = scan_of([closer]).find(text + closer, 0, eof=True)
        return hit.start == len(text)

    def excluded(self, template: ElementTemplate) -> tuple[str, ...]:
        """What would end a value's text."""
        return (template.closed({"key": ""}),)

    def forms(
        self, node: Node, schema: Subschema | None, grammar: ElementGrammar, depth: int
    ) -> list[tuple[Slots, str]]:
        """In which forms a value may be written: what the attributes say, and the value's expression. ``depth``: in how
        many other elements it stands.
        """
        raise NotImplementedError

    def _says(self, text: str, value: Any, slots: Slots, schema: Subschema | None) -> bool:
        found = text if self.streams(slots, schema) else json.loads(self.judge(text, slots, schema))
        return same(found, value)

    def _quoted(self, text: str) -> str:
        if self.quotes and any(char in text for char in "<&\n"):
            return text.join(self.quotes)
        return text


class BySchema(ValueRule, frozen=True):
    """The tool's schema decides; where it says nothing, the value is a string."""

    cdata: tuple[str, str] | None = None
    """What stands around strings that hold markup or several lines, as ``<![CDATA[`` and ``]]>``."""

    @property
    def quotes(self) -> tuple[str, str] | None:
        return self.cdata

    def streams(self, slots: Slots, schema: Subschema | None) -> bool:  # noqa: ARG002  # other rules need them
        return string_only(schema)

    def judge(self, text: str, slots: Slots, schema: Subschema | None) -> str:  # noqa: ARG002  # as above
        return bare_value(text, schema)

    def forms(
        self,
        node: Node,
        schema: Subschema | None,
        grammar: ElementGrammar,
        depth: int,  # noqa: ARG002  # values are not nested
    ) -> list[tuple[Slots, str]]:
        return [({}, value) for value in grammar.bare.value(node, schema)]


class ByFlag(ValueRule, frozen=True):
    """The slot says ``true`` for strings; where it says anything else, or is missing, the value is JSON."""

    slot: str = "text"

    @property
    def attributes(self) -> tuple[str, ...]:
        return (self.slot,)

    @property
    def words(self) -> frozenset[str]:
        return frozenset(("true", "false"))

    def streams(self, slots: Slots, schema: Subschema | None) -> bool:  # noqa: ARG002  # other rules need it
        return slots.get(self.slot, "").strip().lower() == "true"

    def judge(self, text: str, slots: Slots, schema: Subschema | None) -> str:  # noqa: ARG002  # as above
        return _json(text) or bare_value(text, schema)

    def slots(self, value: Any) -> Slots:
        return {self.slot: "true" if isinstance(value, str) else "false"}

    def forms(
        self,
        node: Node,
        schema: Subschema | None,  # noqa: ARG002  # the slot says it
        grammar: ElementGrammar,
        depth: int,  # noqa: ARG002  # values are not nested
    ) -> list[tuple[Slots, str]]:
        texts, rest = _told_apart(node, grammar)
        values = grammar.values.either("value", [grammar.framed(grammar.values.value(one)) for one in rest])
        return [
            *(({self.slot: "true"}, text) for text in texts),
            *(({self.slot: "false"}, value) for value in (values,) if value is not None),
        ]


class ByType(ValueRule, frozen=True):
    """The slot names the JSON type; where it is missing, the tool's schema decides."""

    slot: str = "type"

    @property
    def attributes(self) -> tuple[str, ...]:
        return (self.slot,)

    @property
    def words(self) -> frozenset[str]:
        return frozenset(("string", "number", "integer", "boolean", "null", "array", "object"))

    def streams(self, slots: Slots, schema: Subschema | None) -> bool:
        kind = slots.get(self.slot)
        return string_only(schema) if kind is None else kind.strip().lower() == "string"

    def judge(self, text: str, slots: Slots, schema: Subschema | None) -> str:
        return (_json(text) if self.slot in slots else None) or bare_value(text, schema)

    def slots(self, value: Any) -> Slots:
        return {self.slot: type_name(value)}

    def forms(
        self,
        node: Node,
        schema: Subschema | None,  # noqa: ARG002  # the slot says it
        grammar: ElementGrammar,
        depth: int,  # noqa: ARG002  # values are not nested
    ) -> list[tuple[Slots, str]]:
        texts, rest = _told_apart(node, grammar)
        found = [({self.slot: "string"}, text) for text in texts]
        for one in rest:
            value = grammar.framed(grammar.values.value(one))
            found += [] if value is None else [({self.slot: type_of(one)}, value)]
        return found


def _told_apart(node: Node, grammar: ElementGrammar) -> tuple[list[str], list[Node]]:
    """The expressions for the strings that a node admits, and nodes for the rest, each of one type."""
    options = list(alternatives(node, grammar.values.definitions))
    texts = [text for one in options for text in grammar.bare.strings(one)]
    return texts, [other for one in options for other in no_strings(one)]


def _json(text: str) -> str | None:
    """The text where it is JSON, without the whitespace around it."""
    try:
        decode(text)
    except ValueError:
        return None
    return text.strip()


def same(one: Any, other: Any) -> bool:
    """Whether two decoded values are one JSON value: ``1`` is not ``true``, and not ``1.0``."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
