"""How an argument's text becomes JSON: the rules for values of elements.

Each rule says which values are strings whose text can be passed on as it comes, what any other text is, and how a value
is written so that it is read back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from random import Random as Rng
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from toolglot.errors import RenderError
from toolglot.formats.bare_value import Subschema, bare_value, string_only
from toolglot.formats.json_text import decode
from toolglot.formats.synthesis import quote

if TYPE_CHECKING:
    from toolglot.formats.cursor import Reading
    from toolglot.formats.element_call import ElementReader

Slots: TypeAlias = Mapping[str, str]
"""What the slots of an argument's opener hold."""

_SPACE = ("", "", " ", "\n", "\n\n", "\t ")


class ValueRule(Struct, frozen=True):
    """What decides the type of a value."""

    @property
    def attributes(self) -> tuple[str, ...]:
        """The slots that say the type; a model may leave them out."""
        return ()

    def streams(self, slots: Slots, schema: Subschema | None) -> bool:
        """Whether the value is a string for certain, whatever its text."""
        raise NotImplementedError

    def judge(self, text: str, slots: Slots, schema: Subschema | None) -> str:
        """The JSON of a whole value that does not stream."""
        raise NotImplementedError

    def held(self, reader: ElementReader, slots: Slots, schema: Subschema | None) -> Reading[str]:
        """Read a value that does not stream, with its closer. Returns its JSON."""
        text = yield from reader.text(slots)
        return self.judge(text, slots, schema)

    def write(self, value: Any, text: str, schema: Subschema | None, vary: Rng | None) -> tuple[Slots, str]:
        """The slots and the text of a value; ``text`` is its JSON.

        Raises:
            RenderError: it would be read as another value.
        """
        raise NotImplementedError

    def _read_back(self, text: str, slots: Slots, schema: Subschema | None) -> Any:
        if self.streams(slots, schema):
            return text
        return json.loads(self.judge(text, slots, schema))

    def _varied(self, value: Any, text: str, slots: Slots, schema: Subschema | None, vary: Rng | None) -> str:
        """``text``, or in its place another that says the same."""
        if not same(self._read_back(text, slots, schema), value):
            raise RenderError(f"the value {text[:80]!r} cannot be written: it would be read as one of another type")
        if vary is None or isinstance(value, str):
            return text
        other = vary.choice((text, repr(value), json.dumps(value), json.dumps(value, indent=1)))
        other = vary.choice(_SPACE) + other + vary.choice(_SPACE)
        return other if same(self._read_back(other, slots, schema), value) else text


class BySchema(ValueRule, frozen=True):
    """The tool's schema decides; where it says nothing, the value is a string."""

    def streams(self, slots: Slots, schema: Subschema | None) -> bool:  # noqa: ARG002  # other rules need them
        return string_only(schema)

    def judge(self, text: str, slots: Slots, schema: Subschema | None) -> str:  # noqa: ARG002  # as above
        return bare_value(text, schema)

    def write(self, value: Any, text: str, schema: Subschema | None, vary: Rng | None) -> tuple[Slots, str]:
        return {}, self._varied(value, value if isinstance(value, str) else text, {}, schema, vary)


class ByFlag(ValueRule, frozen=True):
    """The slot says ``true`` for strings; without it, or with anything else, the value is JSON."""

    slot: str = "text"

    @property
    def attributes(self) -> tuple[str, ...]:
        return (self.slot,)

    def streams(self, slots: Slots, schema: Subschema | None) -> bool:  # noqa: ARG002  # other rules need it
        return slots.get(self.slot, "").strip().lower() == "true"

    def judge(self, text: str, slots: Slots, schema: Subschema | None) -> str:  # noqa: ARG002  # as above
        return _json(text) or bare_value(text, schema)

    def write(self, value: Any, text: str, schema: Subschema | None, vary: Rng | None) -> tuple[Slots, str]:
        raw = isinstance(value, str)
        slots = {self.slot: "true" if raw else "false"}
        return slots, self._varied(value, value if raw else text, slots, schema, vary)


class ByType(ValueRule, frozen=True):
    """The slot names the JSON type; without it the tool's schema decides."""

    slot: str = "type"

    @property
    def attributes(self) -> tuple[str, ...]:
        return (self.slot,)

    def streams(self, slots: Slots, schema: Subschema | None) -> bool:
        kind = slots.get(self.slot)
        return string_only(schema) if kind is None else kind.strip().lower() == "string"

    def judge(self, text: str, slots: Slots, schema: Subschema | None) -> str:
        return (_json(text) if self.slot in slots else None) or bare_value(text, schema)

    def write(self, value: Any, text: str, schema: Subschema | None, vary: Rng | None) -> tuple[Slots, str]:
        slots = {self.slot: type_name(value)}
        return slots, self._varied(value, value if isinstance(value, str) else text, slots, schema, vary)


def _json(text: str) -> str | None:
    """The text where it is JSON, without the whitespace around it."""
    try:
        decode(text)
    except ValueError:
        return None
    return text.strip()


def type_name(value: Any) -> str:
    """JSON's name for the type of a decoded value; all numbers are ``number``."""
    match value:
        case bool():
            return "boolean"
        case None:
            return "null"
        case str():
            return "string"
        case int() | float():
            return "number"
        case list():
            return "array"
    return "object"


def same(one: Any, other: Any) -> bool:
    """Whether two decoded values are one JSON value: ``1`` is not ``true``, and not ``1.0``."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


__all__ = ["ByFlag", "BySchema", "ByType", "Slots", "ValueRule", "quote", "same", "type_name"]
