"""Any draft's spelling of a schema, and OpenAPI's and BFCL's, as draft 2020-12 spells it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from toolglot.schemas.type_names import type_names


class Keywords(Struct, frozen=True):
    """The keywords of one schema, spelled as in draft 2020-12. What they hold is as the client spelled it."""

    values: Mapping[str, Any]
    origins: Mapping[str, str]
    """What the client calls the keywords whose names differ."""

    def origin(self, keyword: str) -> str:
        """What the client calls a keyword."""
        return self.origins.get(keyword, keyword)


def spelled(schema: Mapping[str, Any], *, lone_references: bool = False) -> Keywords:
    """One schema, not those in it, in the spelling of draft 2020-12.

    Args:
        schema: The schema, of the right shape.
        lone_references: Whether ``$ref`` stands alone, as up to draft 7, so that its siblings say nothing.
    """
    if lone_references and "$ref" in schema:
        return Keywords({"$ref": schema["$ref"]}, {})
    if _OLD.isdisjoint(schema):
        return Keywords(schema, {})
    values, origins = dict(schema), dict[str, str]()
    for respell in (_tuple, _limits, _dependencies):
        respell(values, origins)
    return Keywords(values, origins)


def lone_references(root: Any) -> bool:
    """Whether ``$ref`` stands alone in a schema, as its ``$schema`` says that it is of draft 7 or older."""
    dialect = root.get("$schema") if isinstance(root, Mapping) else None
    return isinstance(dialect, str) and any(f"draft-0{number}" in dialect for number in (3, 4, 6, 7))


def respelled(schema: Any) -> Any:
    """A schema of any draft, and all that is in it, in the spelling of draft 2020-12, for a validator of that draft.
    References to the inside of a keyword that has another name there are lost.
    """
    found = _respelled(schema, lone_references(schema))
    return found | {"$schema": "https://json-schema.org/draft/2020-12/schema"} if isinstance(found, dict) else found


def _respelled(schema: Any, lone: bool) -> Any:
    if not isinstance(schema, Mapping):
        return schema
    keywords = spelled(schema, lone_references=lone).values
    values = {key: _within(key, value, lone) for key, value in keywords.items()}
    if "type" in values:
        values["type"] = type_names(values["type"])
    if values.pop("nullable", None) is not True:
        return values
    kept = {key: values.pop(key) for key in _IDENTIFIERS if key in values}
    return {**kept, "anyOf": [values, {"type": "null"}]}


def _within(key: str, value: Any, lone: bool) -> Any:
    if key in _ONE:
        return _respelled(value, lone)
    if key in _MANY and isinstance(value, list):
        return [_respelled(one, lone) for one in value]
    if key in _NAMED and isinstance(value, Mapping):
        return {name: _respelled(one, lone) for name, one in value.items()}
    return value


def _tuple(values: dict[str, Any], origins: dict[str, str]) -> None:
    """``items`` that is an array is ``prefixItems``, and ``additionalItems`` then speaks of what follows."""
    rest = values.pop("additionalItems", None)
    if isinstance(values.get("items"), list):
        values["prefixItems"] = values.pop("items")
        origins["prefixItems"] = "items"
        if rest is not None:
            values["items"] = rest
            origins["items"] = "additionalItems"


def _limits(values: dict[str, Any], origins: dict[str, str]) -> None:  # noqa: ARG001  # as the others
    """``exclusiveMinimum`` that is true says that ``minimum`` is exclusive."""
    for limit, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        said = values.get(exclusive)
        if isinstance(said, bool):
            del values[exclusive]
        if said is True and limit in values:
            values[exclusive] = values.pop(limit)


def _dependencies(values: dict[str, Any], origins: dict[str, str]) -> None:
    for name, said in values.pop("dependencies", {}).items():
        keyword = "dependentRequired" if isinstance(said, list) else "dependentSchemas"
        values[keyword] = {**values.get(keyword, {}), name: said}
        origins.setdefault(keyword, "dependencies")


_OLD = frozenset(("items", "additionalItems", "exclusiveMinimum", "exclusiveMaximum", "dependencies"))
"""Keywords that older drafts use otherwise."""
_ONE = frozenset(
    ("additionalProperties", "propertyNames", "contains", "not", "if", "then", "else", "items", "unevaluatedItems")
) | {"unevaluatedProperties"}
_MANY = frozenset(("allOf", "anyOf", "oneOf", "prefixItems"))
_NAMED = frozenset(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"))
_IDENTIFIERS = ("$schema", "$id", "$anchor", "$defs", "definitions")
"""What is not said of values, and is looked for at the top of a schema."""
