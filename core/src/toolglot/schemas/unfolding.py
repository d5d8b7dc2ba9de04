"""How much a validator may have to do for each value, references followed.

Validators follow each reference anew: definitions that each refer to the next one twice take twice the time a level.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from toolglot.errors import GrammarError
from toolglot.schemas.document import Document
from toolglot.schemas.pointer import escaped

MAX_PARTS = 50_000
"""How many parts a schema may have, its references followed, to be used for validation."""

_NAMED = frozenset(("properties", "patternProperties", "dependentSchemas", "dependencies"))
"""Keywords with a schema for each of several names."""
_ELSEWHERE = {
    "items": "[]", "prefixItems": "[]", "additionalItems": "[]", "contains": "[]", "unevaluatedItems": "[]",
    "patternProperties": "{}", "additionalProperties": "{}", "unevaluatedProperties": "{}", "propertyNames": "=",
}  # fmt: skip
"""Keywords whose schemas are for parts of a value, and a word for where that is."""
_NO_PARTS = frozenset(("enum", "const", "default", "examples", "required", "type", "$ref", "$defs", "definitions"))
_ON_THE_WAY = frozenset(("$dynamicRef", "$recursiveRef"))
"""References whose targets are known on the way only."""
_Place: TypeAlias = tuple[str, ...]
_Back: TypeAlias = Counter[tuple[str, _Place]]
"""How often a schema that is being counted is come back to, by its pointer and the part of a value that it is for."""


class _TooLargeError(Exception):
    """There are more parts than there may be, or no telling how many."""


def unfolds_within(schema: Any, most: int = MAX_PARTS) -> bool:
    """Whether a schema has at most so many parts when each reference is followed, and none that comes back to itself
    twice for the same part of a value.
    """
    try:
        _Unfolding(schema, most).count()
    except (_TooLargeError, GrammarError, RecursionError):
        return False
    return True


class _Unfolding:
    def __init__(self, schema: Any, most: int) -> None:
        self._document = Document(schema)
        self._most = most
        self._known: dict[str, tuple[int, _Back]] = {}
        self._open: set[str] = set()

    def count(self) -> int:
        """How many parts there are. Raises _TooLargeError, GrammarError."""
        return self._referred("")[0]

    def _referred(self, path: str) -> tuple[int, _Back]:
        if path in self._open:
            return 1, _Back({(path, ()): 1})
        if path not in self._known:
            self._open.add(path)
            count, back = self._counted(path, self._document.schema(path))
            self._open.remove(path)
            if any(times > 1 for (to, _), times in back.items() if to == path):
                raise _TooLargeError
            self._known[path] = count, _Back({at: times for at, times in back.items() if at[0] != path})
        return self._known[path]

    def _counted(self, path: str, schema: Any) -> tuple[int, _Back]:
        count, back = 1, _Back()
        if not isinstance(schema, Mapping):
            return count, back
        for place, below, part in _parts(schema):
            more, behind = self._counted(f"{path}/{below}", part)
            count += self._added(more, behind, place, back)
        if isinstance(schema.get("$ref"), str):
            target = self._document.target(schema["$ref"], path)
            if target is None:
                raise _TooLargeError
            more, behind = self._referred(target)
            count += self._added(more, behind, (), back)
        if count > self._most:
            raise _TooLargeError
        return count, back

    @staticmethod
    def _added(count: int, behind: _Back, place: _Place, back: _Back) -> int:
        for (to, way), times in behind.items():
            back[to, place + way] += times
        return count


def _parts(schema: Mapping[str, Any]) -> Iterator[tuple[_Place, str, Any]]:
    """The schemas in a schema: each with the part of the value that it is for, and its pointer."""
    if not _ON_THE_WAY.isdisjoint(schema):
        raise _TooLargeError
    for keyword, value in schema.items():
        if keyword in _NO_PARTS:
            continue
        if isinstance(value, Mapping) and keyword in _NAMED:
            yield from ((_place(keyword, name), f"{keyword}/{escaped(name)}", part) for name, part in value.items())
        elif isinstance(value, list):
            yield from ((_place(keyword), f"{keyword}/{number}", part) for number, part in enumerate(value))
        else:
            yield _place(keyword), keyword, value


def _place(keyword: str, name: str = "") -> _Place:
    return (name,) if keyword == "properties" else (_ELSEWHERE[keyword],) if keyword in _ELSEWHERE else ()
