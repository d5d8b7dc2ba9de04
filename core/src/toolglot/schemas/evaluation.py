"""``unevaluatedProperties`` and ``unevaluatedItems``: what no other keyword has evaluated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from toolglot.schemas import arrays, objects
from toolglot.schemas.algebra import Algebra
from toolglot.schemas.normal import Anything, Array, Constants, Node, Object, Others, Property, Union
from toolglot.schemas.part import Part
from toolglot.schemas.unions import typed, united
from toolglot.schemas.unsettled import EVERY, TYPED, Named, Rest, explicit, unsaid
from toolglot.schemas.values import kind_of

_BRANCHES = ("anyOf", "oneOf", "allOf", "if", "$ref", "dependentSchemas", "contains")
_ITEM_TESTS = frozenset(("not", "if", "oneOf", "contains", "$dynamicRef", "$recursiveRef", "dependentSchemas"))
"""Keywords that say something of items without evaluating them."""
_IN_PLACE = ("allOf", "anyOf")


def members(part: Part, node: Node) -> Node:
    """The values of ``node`` whose unevaluated members are as ``unevaluatedProperties`` says."""
    return _unevaluated(part, node, "unevaluatedProperties", "object", _object)


def items(part: Part, node: Node) -> Node:
    """The values of ``node`` whose unevaluated items are as ``unevaluatedItems`` says."""
    if not _plain(part, part.values, [64]):
        part.larger("unevaluatedItems", "other keywords test items without evaluating them, or decide by their value")
        return node
    return _unevaluated(part, node, "unevaluatedItems", "array", _array)


def _unevaluated(part: Part, node: Node, keyword: str, kind: str, make: Callable[[Node, Node, Algebra], Node]) -> Node:
    said = explicit(part.walk.value(part.values[keyword], part.at(keyword)))
    if not part.place.positive:
        part.larger(keyword, "within `not` and the like")
        return node
    algebra = part.algebra(keyword)
    if any(branch in part.values for branch in _BRANCHES):
        algebra.losses.shrink("what an alternative evaluates is admitted in that alternative only")
    return part.judged(node, _of(node, said, kind, make, algebra), keyword)


def _of(option: Node, said: Node, kind: str, make: Callable[[Node, Node, Algebra], Node], algebra: Algebra) -> Node:
    node = algebra.resolved(option)
    if isinstance(node, Union):
        return united([_of(one, said, kind, make, algebra) for one in node.options])
    if isinstance(node, Object | Array):
        return make(node, said, algebra)
    if isinstance(node, Anything):
        kinds = node.kinds if isinstance(node, Rest) else EVERY
        rest: Node = Rest(kinds - {kind}) if isinstance(node, Rest) else typed(kinds - {kind})
        return united([make(TYPED[kind], said, algebra), rest]) if kind in kinds else option
    if node is None or (isinstance(node, Constants) and kind in map(kind_of, node.values)):
        algebra.losses.grow("constants, or recursion")
    return option


def _object(node: Node, said: Node, algebra: Algebra) -> Node:
    if not isinstance(node, Object):
        return node
    properties = [_member(one, said, algebra) for one in node.properties]
    others = [
        Others(algebra.intersect(one.value, said), one.names) if unsaid(one.value) else one for one in node.others
    ]
    return objects.made(properties, others, node.least, node.most)


def _member(one: Property, said: Node, algebra: Algebra) -> Property:
    if not isinstance(one, Named):
        return one
    return Property(one.name, algebra.intersect(one.value, said), one.required)


def _array(node: Node, said: Node, algebra: Algebra) -> Node:
    if not isinstance(node, Array) or node.rest is None or not unsaid(node.rest):
        return node
    return arrays.made(node.first, algebra.intersect(node.rest, said), node.least, node.most)


def _plain(part: Part, schema: Any, left: list[int]) -> bool:
    """Whether a schema evaluates just the items that it says something of, and whatever their values are."""
    left[0] -= 1
    if not isinstance(schema, Mapping):
        return True
    if left[0] < 0 or not _ITEM_TESTS.isdisjoint(schema):
        return False
    parts = [one for keyword in _IN_PLACE for one in schema.get(keyword, ())]
    if "$ref" in schema:
        document = part.walk.document
        target = document.target(schema["$ref"], part.place.path)
        if target is None:
            return False
        parts.append(document.schema(target))
    return all(_plain(part, one, left) for one in parts)
