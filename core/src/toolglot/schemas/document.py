"""A client's schema as a whole: its parts by their JSON pointers, and what its references point at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from toolglot.errors import GrammarError
from toolglot.schemas.audit import Place
from toolglot.schemas.pointer import escaped, steps, value_at
from toolglot.schemas.shapes import shaped
from toolglot.schemas.spelling import lone_references


class Document:
    """A client's schema.

    Raises:
        GrammarError: it is no schema.
    """

    def __init__(self, schema: Any) -> None:
        self.lone_references = lone_references(schema)
        self._raw = schema
        self._schemas: dict[str, Any] = {}
        self._identified: list[tuple[str, Mapping[str, Any]]] = []
        self._check(schema, "")
        self._resources = {"": ""}
        self._anchors: dict[tuple[str, str], str] = {}
        if len(self._identified) > _MAX_IDENTIFIED:
            raise GrammarError(f"more than {_MAX_IDENTIFIED} parts have an $id or $anchor of their own")
        for path, found in sorted(self._identified, key=lambda one: one[0].count("/")):
            self._identify(path, found)

    def schema(self, path: str) -> Any:
        """The schema at a JSON pointer.

        Raises:
            GrammarError: there is none.
        """
        if path not in self._schemas:
            self._check(value_at(self._raw, path), path)
        return self._schemas[path]

    def target(self, reference: str, path: str) -> str | None:
        """The JSON pointer of what the schema at ``path`` refers to; None where that is outside of the document.

        Raises:
            GrammarError: it refers to nothing.
        """
        uri, fragment = _resolved(self._base(path), reference, f"{path}/$ref")
        start = self._resources.get(uri)
        if start is None:
            return None
        if fragment and not fragment.startswith("/"):
            return self._anchored(uri, unquote(fragment), path)
        found = start + "".join(f"/{escaped(step)}" for step in steps(unquote(fragment)))
        if found not in self._schemas and value_at(self._raw, found) is None:
            raise GrammarError(f"{path}/$ref: {reference!r} points at nothing")
        return found

    def _check(self, schema: Any, path: str) -> None:
        found = shaped(schema, Place(path), self._visit)
        self._schemas[path] = found

    def _visit(self, place: Place, schema: dict[str, Any]) -> None:
        self._schemas[place.path] = schema
        if not _IDENTIFIERS.isdisjoint(schema) and not (self.lone_references and "$ref" in schema):
            self._identified.append((place.path, schema))

    def _identify(self, path: str, schema: Mapping[str, Any]) -> None:
        """Note the name of a schema; those further out are noted already."""
        name = schema.get("$id", schema.get("id") if self.lone_references else None)
        if isinstance(name, str):
            uri, fragment = _resolved(self._base(path), name, f"{path}/{'$id' if '$id' in schema else 'id'}")
            if fragment:
                self._anchors[uri, fragment] = path
            else:
                self._resources[uri] = path
        for keyword in ("$anchor", "$dynamicAnchor"):
            if isinstance(schema.get(keyword), str):
                self._anchors[self._base(path), schema[keyword]] = path

    def _base(self, path: str) -> str:
        """The URI of the innermost named schema that ``path`` is in."""
        if len(self._resources) == 1:
            return ""
        around = [(start, uri) for uri, start in self._resources.items() if f"{path}/".startswith(f"{start}/")]
        return max(around, key=lambda one: len(one[0]) * 2 + bool(one[1]))[1]

    def _anchored(self, uri: str, name: str, path: str) -> str:
        if (uri, name) not in self._anchors:
            raise GrammarError(f"{path}/$ref: no schema has the anchor {name!r}")
        return self._anchors[uri, name]


def _resolved(base: str, reference: str, path: str) -> tuple[str, str]:
    """The URI of a reference, and its fragment."""
    try:
        return urldefrag(base + reference if reference.startswith("#") else urljoin(base, reference))
    except ValueError as error:
        raise GrammarError(f"{path}: {reference[:80]!r} is no URI reference") from error


_MAX_IDENTIFIED = 200
"""How many parts of a schema may have names; to resolve a reference takes as many steps."""
_IDENTIFIERS = frozenset(("$id", "id", "$anchor", "$dynamicAnchor"))
