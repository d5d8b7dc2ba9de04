"""The type of a value that is written without one: ``42`` is what the tool's schema says it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from toolglot.formats import python_literal
from toolglot.formats.json_text import decode
from toolglot.formats.synthesis import quote
from toolglot.schemas.groups import KEYWORDS
from toolglot.schemas.pointer import value_at
from toolglot.schemas.type_names import type_names

if TYPE_CHECKING:
    from toolglot.requests import Tool

_IMPLIED = {"properties": "object", "additionalProperties": "object", "items": "array", "prefixItems": "array"}
_SPOKEN = {
    **{keyword: kind for kind, keywords in KEYWORDS.items() for keyword in keywords},
    **dict.fromkeys(("contains", "unevaluatedItems"), "array"),
    **dict.fromkeys(("propertyNames", "dependentRequired", "dependentSchemas", "dependencies"), "object"),
    "unevaluatedProperties": "object",
}
_PYTHON_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}
_MAX_BRANCHES = 64
"""How many subschemas of one value are looked at: references may go in circles."""

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*+)")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")


class Subschema:
    """The schema of one value inside ``root``, the tool's schema, where its references lead."""

    def __init__(self, schema: Any, root: Mapping[str, Any]) -> None:
        self._schema = schema
        self._root = root

    @classmethod
    def of_tool(cls, tool: Tool | None) -> Subschema | None:
        """The schema of a tool's arguments; None where there is none."""
        return None if tool is None or tool.parameters is None else cls(tool.parameters, tool.parameters)

    @cached_property
    def types(self) -> frozenset[str]:
        """JSON Schema's names of the types that it accepts, or, where it names none, of those that its keywords speak
        of; empty where it says nothing about them.
        """
        named = self._types(self._schema, [_MAX_BRANCHES])
        return named or frozenset().union(*map(_spoken_of, self._branches()))

    @property
    def string_only(self) -> bool:
        """Whether a value can be nothing but a string. Where nothing is said, it is one."""
        return not self.types or self.types == {"string"}

    @property
    def no_string(self) -> bool:
        """Whether a value can be anything but a string."""
        return bool(self.types) and "string" not in self.types

    @property
    def names(self) -> tuple[str, ...]:
        """The members of the object that it names."""
        declared = (branch.get("properties") for branch in self._branches())
        names = (name for properties in declared if isinstance(properties, Mapping) for name in properties)
        return tuple(dict.fromkeys(names))

    def others(self) -> Subschema | None:
        """The schema of members that it does not name; None where nothing is said about them."""
        found = (branch.get("additionalProperties") for branch in self._branches())
        return self._any([part for part in found if isinstance(part, Mapping)])

    def property(self, key: str) -> Subschema | None:
        """The schema of a member of the object; None where nothing is said about it."""
        found = []
        for branch in self._branches():
            declared = branch.get("properties")
            if isinstance(declared, Mapping) and key in declared:
                found.append(declared[key])
            elif isinstance(branch.get("additionalProperties"), Mapping):
                found.append(branch["additionalProperties"])
        return self._any(found)

    def item(self, index: int) -> Subschema | None:
        """The schema of an item of the array; None where nothing is said about it."""
        found = []
        for branch in self._branches():
            first = branch.get("prefixItems")
            if isinstance(first, list) and index < len(first):
                found.append(first[index])
            elif isinstance(branch.get("items"), Mapping):
                found.append(branch["items"])
        return self._any(found)

    def target(self, reference: Any) -> Any:
        """What a reference within the tool's schema points at; None where that is nothing."""
        if not isinstance(reference, str) or not reference.startswith("#"):
            return None
        return value_at(self._root, unquote(reference[1:]))

    def value(self, text: str) -> str:
        """The JSON of a bare value: of the first of null, boolean, integer, number, object or array, and string that
        is accepted and that ``text`` can be. Python's literals count.
        """
        if self.string_only:
            return quote(text)
        word = text.strip()
        for kind, read in _READERS:
            if kind in self.types and (value := read(word, self.types)) is not None:
                return value
        return quote(text) if "string" in self.types else _untyped(word) or quote(text)

    def _any(self, found: list[Any]) -> Subschema | None:
        if not found:
            return None
        return Subschema(found[0] if len(found) == 1 else {"anyOf": found}, self._root)

    def _branches(self) -> Iterator[Mapping[str, Any]]:
        """The schema itself, what it refers to, and all that it is composed of."""
        waiting, count = [self._schema], 0
        while waiting and count < _MAX_BRANCHES:
            schema = waiting.pop()
            count += 1
            if isinstance(schema, Mapping):
                yield schema
                waiting += [part for key in ("allOf", "oneOf", "anyOf") for part in _list(schema.get(key))]
                waiting += [self.target(schema["$ref"])] if "$ref" in schema else []

    def _types(self, schema: Any, left: list[int]) -> frozenset[str]:
        left[0] -= 1
        if not isinstance(schema, Mapping) or left[0] < 0:
            return frozenset()
        said = [_own_types(schema)]
        said += [self._types(part, left) for part in _list(schema.get("allOf"))]
        said += [self._types(self.target(schema["$ref"]), left)] if "$ref" in schema else []
        for key in ("anyOf", "oneOf"):
            branches = [self._types(part, left) or _spoken_of(part) or {"string"} for part in _list(schema.get(key))]
            said.append(frozenset().union(*branches))
        said = [types for types in said if types]
        types = frozenset.intersection(*said) or said[0] if said else frozenset()
        return types | {"null"} if types and schema.get("nullable") is True else types


def bare_value(text: str, schema: Subschema | None) -> str:
    """The JSON of a value written without its type, as ``schema`` types it; without a schema it is a string."""
    return quote(text) if schema is None else schema.value(text)


def string_only(schema: Subschema | None) -> bool:
    """Whether a value can be nothing but a string, so that it can be passed on as it comes."""
    return schema is None or schema.string_only


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _own_types(schema: Mapping[str, Any]) -> frozenset[str]:
    """What the schema's own keywords say."""
    declared = schema.get("type")
    if declared is not None:
        return frozenset(type_names(declared))
    members = [schema["const"]] if "const" in schema else _list(schema.get("enum"))
    if members:
        return frozenset(_type_of(member) for member in members)
    return frozenset(kind for key, kind in _IMPLIED.items() if key in schema)


def _spoken_of(schema: Any) -> frozenset[str]:
    """The types that the schema's own keywords speak of: of others, all values are as good."""
    if not isinstance(schema, Mapping):
        return frozenset()
    draft_3 = isinstance(schema.get("required"), bool)  # which speaks of the object around it
    return frozenset(kind for key, kind in _SPOKEN.items() if key in schema and not (draft_3 and key == "required"))


def _type_of(value: Any) -> str:
    return _PYTHON_TYPES.get(type(value)) or ("array" if isinstance(value, list | tuple) else "object")


def _null(word: str, types: frozenset[str]) -> str | None:  # noqa: ARG001  # as the other readers
    return "null" if word == "None" or word.lower() == "null" else None


def _boolean(word: str, types: frozenset[str]) -> str | None:
    lowered = word.lower()
    if lowered in ("true", "false"):
        return lowered
    plain = types.isdisjoint(("string", "integer", "number"))
    return {"1": "true", "0": "false"}.get(word) if plain else None


def _integer(word: str, types: frozenset[str]) -> str | None:
    found = _number(word, types)
    return found if found and _INTEGER.fullmatch(found) else None


def _number(word: str, types: frozenset[str]) -> str | None:
    if _NUMBER.fullmatch(word):
        return word
    return None if "string" in types else python_literal.number(word)  # `007` is then no number


def _container(word: str, types: frozenset[str]) -> str | None:
    found = _untyped(word) if word[:1] in ("{", "[", "(") else None
    return found if found and ("object" if found[0] == "{" else "array") in types else None


def _untyped(word: str) -> str | None:
    """The JSON of a JSON value or a Python literal that is no string; None where it is neither."""
    try:
        decode(word)
    except ValueError:
        return python_literal.scalar(word) or (python_literal.literal(word) if word else None)
    return word


_READERS = (
    ("null", _null),
    ("boolean", _boolean),
    ("integer", _integer),
    ("number", _number),
    ("object", _container),
    ("array", _container),
)
