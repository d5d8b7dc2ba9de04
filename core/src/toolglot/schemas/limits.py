"""How large a client's schema may be: checked before anything else is done with it, and without recursion."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from toolglot.errors import GrammarError
from toolglot.schemas.pointer import escaped, placed

Path: TypeAlias = "tuple[Path, str | int] | None"
"""A place in a schema: the place around it, and the step from there; None is the schema itself."""


class Limits(Struct, frozen=True):
    """How large a schema may be."""

    size: int = 256 << 10
    """Bytes of its JSON, without whitespace and escapes."""
    values: int = 30_000
    """JSON values in all, of any type."""
    depth: int = 64
    """How deep schemas, and constants in them, may be nested in one another."""
    properties: int = 2_000
    """Properties of one object."""
    all_properties: int = 5_000
    """Properties of all objects."""
    enum_values: int = 10_000
    """Values of one enum."""
    enum_size: int = 128 << 10
    """Bytes of one enum."""
    branches: int = 500
    """Schemas of one list of schemas, as ``anyOf`` has."""
    references: int = 2_000
    """``$ref`` in the whole schema."""
    pattern_length: int = 2_000
    """Characters of one pattern."""
    repetition: int = 10_000
    """How often a pattern may repeat a part of it."""


DEFAULT = Limits()


def check(schema: Any, limits: Limits = DEFAULT) -> None:
    """Check that a schema is within the limits.

    Raises:
        GrammarError: it is not. The message names the limit, and begins with a JSON pointer to the place, unless that
            is the schema as a whole.
    """
    _Check(limits).run(schema)


class _Part(Struct, frozen=True):
    """A value that is still to be looked at. ``kind`` is what the keyword that holds it says that it is."""

    value: Any
    kind: str
    path: Path
    depth: int


class _Check:
    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._size = self._properties = self._references = 0

    def run(self, schema: Any) -> None:
        limits = self._limits
        for count, part in enumerate(_walk(_Part(schema, "schema", None, 0)), 1):
            self._size += _size(part.value)
            if self._size > limits.size or count > limits.values or part.depth > limits.depth:
                self._hold(part, self._size, limits.size, "bytes of JSON")
                self._hold(part, count, limits.values, "values in all")
                self._hold(part, part.depth, limits.depth, "levels of schemas in one another")
            check = self._CHECKS.get(part.kind)
            if check is not None:
                check(self, part)

    def _hold(self, part: _Part, found: int, limit: int, what: str) -> None:
        if found > limit:
            raise GrammarError(placed(_pointer(part.path), f"a schema may have {limit} {what}, not more"))

    def _named(self, part: _Part) -> None:
        if isinstance(part.value, Mapping):
            self._properties += len(part.value)
            self._hold(part, len(part.value), self._limits.properties, "properties in one object")
            self._hold(part, self._properties, self._limits.all_properties, "properties in all")

    def _branches(self, part: _Part) -> None:
        if isinstance(part.value, list):
            self._hold(part, len(part.value), self._limits.branches, "schemas in one list")

    def _enum(self, part: _Part) -> None:
        if isinstance(part.value, list):
            self._hold(part, len(part.value), self._limits.enum_values, "values in one enum")
            size = sum(_size(one.value) for one in _walk(part))
            self._hold(part, size, self._limits.enum_size, "bytes in one enum")

    def _reference(self, part: _Part) -> None:
        self._references += 1
        self._hold(part, self._references, self._limits.references, "references")

    def _pattern(self, part: _Part) -> None:
        if isinstance(part.value, str):
            self._regex(part, part.value)

    def _patterns(self, part: _Part) -> None:
        self._named(part)
        for pattern in part.value if isinstance(part.value, Mapping) else ():
            self._regex(_Part(None, "data", (part.path, pattern), part.depth), pattern)

    def _regex(self, part: _Part, pattern: str) -> None:
        self._hold(part, len(pattern), self._limits.pattern_length, "characters in one pattern")
        most = max((int(digits) for pair in _REPETITION.findall(pattern) for digits in pair if digits), default=0)
        self._hold(part, most, self._limits.repetition, "repetitions of a part of a pattern")

    _CHECKS: Mapping[str, Callable[[_Check, _Part], None]] = {
        "properties": _named,
        "patterns": _patterns,
        "branches": _branches,
        "enum": _enum,
        "reference": _reference,
        "pattern": _pattern,
    }


def _walk(root: _Part) -> Iterator[_Part]:
    """All parts of a part, itself first, each before what is in it."""
    waiting = [root]
    while waiting:
        part = waiting.pop()
        yield part
        waiting.extend(_parts(part))


def _parts(part: _Part) -> Iterable[_Part]:
    value, path = part.value, part.path
    if isinstance(value, Mapping):
        if part.kind == "schema":
            return [_keyword(part, key, one) for key, one in value.items()]
        steps: Iterable[tuple[str | int, Any]] = value.items()
    elif isinstance(value, list | tuple):
        steps = enumerate(value)
    else:
        return ()
    inner, depth = ("schema" if part.kind in _OF_SCHEMAS else "data"), part.depth + 1
    return [_Part(one, inner, (path, step), depth) for step, one in steps]


def _keyword(part: _Part, key: str, value: Any) -> _Part:
    kind = _KINDS.get(key, "data")
    if kind == "schema" and isinstance(value, list):
        kind = "branches"
    return _Part(value, kind, (part.path, key), part.depth + (kind == "schema"))


def _size(value: Any) -> int:
    """The bytes that a value has in JSON besides those of what is in it."""
    if isinstance(value, str):
        return len(value.encode("utf-8", "surrogatepass")) + 2
    if isinstance(value, Mapping):
        return 2 + sum(len(key.encode("utf-8", "surrogatepass")) + 4 for key in value if isinstance(key, str))
    if isinstance(value, list | tuple):
        return 2 + len(value)
    if isinstance(value, int):
        return 1 + value.bit_length() * 3 // 10
    return len(repr(value)) if isinstance(value, float) else 4


def _pointer(path: Path) -> str:
    steps: list[str] = []
    while path is not None:
        path, step = path
        steps.append(f"/{escaped(step)}")
    return "".join(reversed(steps))


_REPETITION = re.compile(r"(?<!\\)\{(\d*),?(\d*)\}")
_KINDS: Mapping[str, str] = {
    **dict.fromkeys(("properties", "dependentSchemas", "dependencies", "$defs", "definitions"), "properties"),
    "patternProperties": "patterns",
    **dict.fromkeys(("anyOf", "oneOf", "allOf", "prefixItems"), "branches"),
    **dict.fromkeys(("items", "additionalProperties", "propertyNames", "contains", "not", "if", "then"), "schema"),
    **dict.fromkeys(("else", "additionalItems", "unevaluatedItems", "unevaluatedProperties"), "schema"),
    **dict.fromkeys(("$ref", "$dynamicRef"), "reference"),
    "enum": "enum",
    "pattern": "pattern",
}
"""What the keywords hold that hold more than plain data."""
_OF_SCHEMAS = ("properties", "patterns", "branches")
