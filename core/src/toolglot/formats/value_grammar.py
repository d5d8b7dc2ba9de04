"""What a grammar admits as values that are not JSON: formats built from a tool's schema.

Enforced are types, ``enum`` and ``const``, ``required`` and declared properties, items and their number, and what
XGrammar enforces in numbers and (as the style can) in strings. Properties come in the order of their declaration. An
object that declares properties admits no others. A reference is followed a few times within itself; values that go
deeper are not admitted.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from collections.abc import Sequence as Series
from typing import Any, TypeAlias

from toolglot.errors import GrammarError
from toolglot.formats.bare_value import Subschema
from toolglot.formats.schema_merge import merged
from toolglot.structural_tag import ConstString, Format, JsonSchema, Optional, Or, Repeat, Sequence

MAX_NODES = 20_000
"""Of how many values a tool's grammar may be made: alternatives within alternatives multiply."""
_MAX_DEPTH = 3
"""How often one reference is followed inside itself."""
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_STRINGS = ("minLength", "maxLength", "pattern", "format")

Build: TypeAlias = Callable[[Any], Format | None]
"""The format of a value for its schema; None where there is no value that can be written."""


class Style:
    """How values are written. ``comma`` stands between items."""

    comma = ", "

    def string(self, keywords: Mapping[str, Any]) -> Format:
        """A string; ``keywords`` are those of the schema that are about strings."""
        raise NotImplementedError

    def literal(self, value: Any) -> str:
        """Just this value."""
        raise NotImplementedError

    def key(self, key: str) -> str:
        """A member's key, and what stands between it and the value."""
        raise NotImplementedError

    def any_key(self) -> Format:
        """Any key, likewise."""
        raise NotImplementedError

    def any_value(self) -> Format:
        """Any value."""
        raise NotImplementedError


class Values:
    """Builds the formats of one tool's values."""

    def __init__(self, style: Style, root: Mapping[str, Any]) -> None:
        self._style = style
        self._root = root
        self._nodes = 0
        self._followed: Counter[str] = Counter()

    def value(self, schema: Any) -> Format | None:
        """A value; None where there is none that can be written.

        Raises:
            GrammarError: the schema refers to something that is not in it, or is too large.
        """
        return self._each(schema, self._plain)

    def members(self, schema: Any, style: Style, value: Build | None = None) -> Format | None:
        """The members of an object, with keys in ``style``; None where there can be no such object."""
        return self._each(schema, lambda plain: self._members(plain, style, value or self.value))

    def _each(self, schema: Any, build: Build) -> Format | None:
        """One of the formats that are built for the alternatives of a schema."""
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise GrammarError("a tool's schema has too many alternatives to be made a grammar", param="tools")
        if not isinstance(schema, Mapping):
            return None if schema is False else build({})
        rest = {key: part for key, part in schema.items() if key not in ("$ref", "allOf", "anyOf", "oneOf")}
        if "$ref" in schema:
            return self._reference(schema, build)
        if schema.get("allOf"):
            whole = {**rest, **{key: schema[key] for key in ("anyOf", "oneOf") if key in schema}}
            for part in schema["allOf"]:
                whole = merged(whole, part)
            return self._each(whole, build)
        for key in ("anyOf", "oneOf"):
            if schema.get(key):
                outer = {name: part for name, part in schema.items() if name != key}
                return either([self._each(merged(outer, branch), build) for branch in schema[key]])
        return build(schema)

    def _reference(self, schema: Mapping[str, Any], build: Build) -> Format | None:
        reference = schema["$ref"]
        target = Subschema(None, self._root).target(reference)
        if target is None:
            raise GrammarError(f"a tool's schema refers to {reference!r}, which is not in it", param="tools")
        if self._followed[reference] >= _MAX_DEPTH:
            return None
        self._followed[reference] += 1
        found = self._each(merged(target, {key: part for key, part in schema.items() if key != "$ref"}), build)
        self._followed[reference] -= 1
        return found

    def _plain(self, schema: Mapping[str, Any]) -> Format | None:
        """A value of a schema without alternatives."""
        if "type" in schema and not schema["type"]:
            return None
        types = Subschema(schema, self._root).types
        if "const" in schema or "enum" in schema:
            return self._constants(schema, types)
        if not types:
            return self._style.any_value()
        return either([self._of(kind, schema) for kind in sorted(types) if kind != "integer" or "number" not in types])

    def _of(self, kind: str, schema: Mapping[str, Any]) -> Format | None:
        match kind:
            case "string":
                return self._style.string({key: schema[key] for key in _STRINGS if key in schema})
            case "integer" | "number":
                return JsonSchema({"type": kind, **{key: schema[key] for key in _NUMBERS if key in schema}})
            case "boolean":
                return Or((ConstString(self._style.literal(True)), ConstString(self._style.literal(False))))
            case "null":
                return ConstString(self._style.literal(None))
            case "array":
                return self._array(schema)
        members = self._members(schema, self._style, self.value)
        return None if members is None else series(ConstString("{"), members, ConstString("}"))

    def _constants(self, schema: Mapping[str, Any], types: frozenset[str]) -> Format | None:
        members = [schema["const"]] if "const" in schema else schema["enum"]
        fitting = [member for member in members if Subschema({"const": member}, {}).types & _widened(types)]
        return either([ConstString(self._style.literal(member)) for member in fitting])

    def _array(self, schema: Mapping[str, Any]) -> Format | None:
        items, first = schema.get("items"), schema.get("prefixItems") or []
        if isinstance(items, list):  # as until draft 2019-09
            items, first = schema.get("additionalItems", False), items
        fixed = [self.value(part) for part in first]
        item = self.value(not first if items is None else items)
        least, most = schema.get("minItems", 0) - len(first), schema.get("maxItems", math.inf) - len(first)
        comma = ConstString(self._style.comma)
        listed = _items([part for part in fixed if part], item, comma, max(least, 0), most if item else min(most, 0))
        return None if None in fixed or listed is None else series(ConstString("["), listed, ConstString("]"))

    def _members(self, schema: Mapping[str, Any], style: Style, value: Build) -> Format | None:
        required = schema.get("required") or ()
        properties = schema.get("properties") or {}
        declared = {**properties, **{key: True for key in required if key not in properties}}
        if not declared:
            return self._open(schema, style, value)
        found = []
        for key, part in declared.items():
            written = value(part)
            if written is None and key in required:
                return None
            if written is not None:
                found.append((key in required, series(ConstString(style.key(key)), written)))
        return _listed(found, ConstString(style.comma))

    def _open(self, schema: Mapping[str, Any], style: Style, value: Build) -> Format:
        """The members of an object that declares none."""
        written = value(schema.get("additionalProperties", "properties" not in schema))
        if written is None:
            return NOTHING
        member = series(style.any_key(), written)
        return Optional(series(member, Repeat(0, -1, series(ConstString(style.comma), member))))


NOTHING = Repeat(0, 0, ConstString(" "))
"""The empty text, which a tag cannot hold otherwise."""


def series(*formats: Format) -> Format:
    """One after the other; neighbouring texts are one."""
    joined: list[Format] = []
    for one in formats:
        for part in one.elements if isinstance(one, Sequence) else (one,):
            if isinstance(part, ConstString) and joined and isinstance(joined[-1], ConstString):
                joined[-1] = ConstString(joined[-1].value + part.value)
            elif part != NOTHING:
                joined.append(part)
    return joined[0] if len(joined) == 1 else Sequence(tuple(joined)) if joined else NOTHING


def either(options: Series[Format | None]) -> Format | None:
    """One of those that there are."""
    found = [option for option in options if option is not None]
    return Or(tuple(found)) if len(found) > 1 else found[0] if found else None


def _widened(types: frozenset[str]) -> frozenset[str]:
    return types | {"integer"} if "number" in types else types


def _items(first: Series[Format], item: Format | None, comma: Format, least: int, most: float) -> Format | None:
    """``first``, then ``least`` to ``most`` items."""
    if least > most or most < 0:
        return None
    if first:
        fixed = series(first[0], *(series(comma, part) for part in first[1:]))
        return series(fixed, _repeated(item, comma, least, most))
    if item is None or most == 0:
        return NOTHING
    some = series(item, _repeated(item, comma, max(least - 1, 0), most - 1))
    return some if least else Optional(some)


def _repeated(item: Format | None, comma: Format, least: int, most: float) -> Format:
    if item is None or most == 0:
        return NOTHING
    return Repeat(least, -1 if most == math.inf else int(most), series(comma, item))


def _listed(found: Series[tuple[bool, Format]], comma: Format) -> Format:
    """Members in their order; those that are not required may be left out."""
    first = next((number for number, (required, _) in enumerate(found) if required), None)
    if first is None:
        return Optional(_some(found, comma)) if found else NOTHING
    required = series(found[first][1], *_behind(found[first + 1 :], comma))
    if first == 0:
        return required
    return Or((series(_some(found[:first], comma), *_behind(found[first:], comma)), required))


def _some(found: Series[tuple[bool, Format]], comma: Format) -> Format:
    """One or more of members of which none is required. By halves, so that it stays small."""
    if len(found) == 1:
        return found[0][1]
    half = len(found) // 2
    return Or((series(_some(found[:half], comma), *_behind(found[half:], comma)), _some(found[half:], comma)))


def _behind(found: Series[tuple[bool, Format]], comma: Format) -> list[Format]:
    """Members behind another one."""
    written = [(required, series(comma, member)) for required, member in found]
    return [member if required else Optional(member) for required, member in written]
