"""The walk through a client's schema that makes its nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from toolglot.errors import GrammarError
from toolglot.schemas import applicators, evaluation, groups, objects
from toolglot.schemas.algebra import Algebra
from toolglot.schemas.audit import SAYS_NOTHING, Audit, Place
from toolglot.schemas.document import Document
from toolglot.schemas.nodes import small, within
from toolglot.schemas.normal import Node, Normal, Object, Reference, Union
from toolglot.schemas.part import Part
from toolglot.schemas.pointer import placed
from toolglot.schemas.spelling import spelled
from toolglot.schemas.unions import options, united
from toolglot.schemas.uniqueness import unique
from toolglot.schemas.unsettled import NOTHING, NULL, REST, Rest

_DEEP = 24
"""How many schemas deep references are followed at once; those of members further in wait."""
SMALL = 6
"""How many nodes a definition may have that is written where it is referred to."""


class Walk:
    """One walk through one schema."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.audit = Audit()
        self.algebra = Algebra()
        self.culprits: dict[str, str] = {}
        """Where objects are unsatisfiable: the places of the members that are."""
        self.counting: list[Place] = []
        """Where ``minProperties`` may count members that are not declared."""
        self._around: set[str] = set()
        self._depth = 0
        self._later: list[Place] = []

    def value(self, schema: Any, place: Place) -> Node:
        """The node of the schema of a value: of a member, an item, or the whole."""
        return self._apart(self._whole, schema, place)

    def name(self, schema: Any, place: Place) -> Node:
        """The node of the schema of a member's name, which is a string, whether it says so or not."""
        return self._apart(self.part, schema, place)

    def part(self, schema: Any, place: Place) -> Node:
        """The node of a schema that speaks of the same value as the one that it is in.

        Raises:
            GrammarError: the schema refers to itself.
        """
        if isinstance(schema, bool):
            return REST if schema else NOTHING
        if place.path in self._around:
            raise GrammarError(_circle(place.path))
        self.algebra.effort.spend()
        self._around.add(place.path)
        self._depth += 1
        node = self._read(schema, place)
        self._depth -= 1
        self._around.discard(place.path)
        return node

    def definition(self, path: str, *, positive: bool) -> Node:
        """The node of what a reference points at; a reference where it is large, or not known yet."""
        place, definitions = Place(path, positive), self.algebra.definitions
        name = _name(place)
        if path in self._around:
            raise GrammarError(_circle(path))
        if name not in definitions:
            definitions[name] = None
            if self._depth > _DEEP and len(self._around) == 1:
                self._later.append(place)
                return Reference(name)
            definitions[name] = self._whole(self.document.schema(path), place)
        node = definitions[name]
        return node if node is not None and small(node, SMALL) else Reference(name)

    def finish(self) -> Mapping[str, Node]:
        """Make the definitions that waited, and return all of them."""
        while self._later:
            place = self._later.pop()
            self.algebra.definitions[_name(place)] = self.value(self.document.schema(place.path), place)
        for site in self.algebra.complete():
            losses = self.algebra.lost()
            if losses.smaller:
                self.audit.smaller(site.place, site.keyword, losses.smaller)
            if losses.larger:
                self.audit.larger(site.place, site.keyword, losses.larger)
        return self.algebra.finished()

    def judge_counts(self, normal: Normal) -> None:
        """Note where ``minProperties`` is narrowed; ``normal`` is what became of the schema."""
        nodes = within(normal.root, *normal.definitions.values())
        if self.counting and any(isinstance(one, Object) and objects.counted_by_kind(one) for one in nodes):
            for place in self.counting:
                self.audit.smaller(place, "minProperties", objects.BY_KIND)

    def culprit(self) -> str:
        """The place that is to blame where the whole schema admits nothing."""
        path = ""
        while path in self.culprits:
            path = self.culprits[path]
        return path

    def _apart(self, read: Callable[[Any, Place], Node], schema: Any, place: Place) -> Node:
        around, self._around = self._around, set()
        node = read(schema, place)
        self._around = around
        return node

    def _read(self, schema: Mapping[str, Any], place: Place) -> Node:
        part = Part(self, spelled(schema, lone_references=self.document.lone_references), place)
        for keyword in part.values if self.document.lone_references and "$ref" in schema else schema:
            self.audit.add(place, keyword, reason="" if keyword in _SPEAKING else SAYS_NOTHING)
        node = groups.said(part)
        for keyword, apply in _APPLICATORS.items():
            if keyword in part.values:
                node = apply(part, node)
        return united([node, NULL]) if part.get("nullable") is True else node

    def _whole(self, schema: Any, place: Place) -> Node:
        node = self.part(schema, place)
        if place.positive and isinstance(node, Union) and isinstance(schema, Mapping):
            rests = [option for option in options(node) if isinstance(option, Rest)]
            for keyword in schema if rests else ():
                if keyword in _SPEAKING:
                    self.audit.smaller(place, keyword, "no type is said: only values of the type that it speaks of")
        return node


def _circle(path: str) -> str:
    return placed(path, "references of the schema lead back to it")


def _name(place: Place) -> str:
    return place.path if place.positive else f"not {place.path}"


_APPLICATORS: Mapping[str, Callable[[Part, Node], Node]] = {
    "const": applicators.constant,
    "enum": applicators.enumeration,
    "$ref": applicators.reference,
    "$dynamicRef": applicators.dynamic_reference,
    "$recursiveRef": applicators.recursive_reference,
    "allOf": applicators.all_of,
    "anyOf": applicators.any_of,
    "oneOf": applicators.one_of,
    "not": applicators.negation,
    "if": applicators.condition,
    "propertyNames": applicators.names,
    "dependentRequired": applicators.dependent_names,
    "dependentSchemas": applicators.dependent_schemas,
    "contains": applicators.contained,
    "uniqueItems": unique,
    "unevaluatedProperties": evaluation.members,
    "unevaluatedItems": evaluation.items,
}
"""What is done for the keywords that hold of values of every kind, in this order."""

_SPEAKING = frozenset(
    (
        *_APPLICATORS,
        *(keyword for keywords in groups.KEYWORDS.values() for keyword in keywords),
        *("type", "nullable", "additionalItems", "dependencies", "then", "else", "minContains", "maxContains"),
    )
)
