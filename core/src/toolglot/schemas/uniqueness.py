"""``uniqueItems``: arrays no two items of which are equal, where a grammar can see to that."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from toolglot.schemas import arrays
from toolglot.schemas.algebra import Algebra
from toolglot.schemas.normal import Anything, Array, Constants, Node, Union
from toolglot.schemas.part import Part
from toolglot.schemas.unions import united
from toolglot.schemas.unsettled import NOTHING, Rest
from toolglot.schemas.values import distinct, identity

_MAX_VALUES = 7
"""How many different items are combined: the arrays are all listed."""
_MAX_ITEMS = 12
"""The longest array whose items are compared with each other."""


def unique(part: Part, node: Node) -> Node:
    """The values of ``node`` that are no array, or one without equal items."""
    if part.values["uniqueItems"] is not True:
        return node
    algebra = part.algebra("uniqueItems")
    return part.judged(node, _of(node, algebra), "uniqueItems")


def _of(option: Node, algebra: Algebra) -> Node:
    node = algebra.resolved(option)
    if isinstance(node, Union):
        return united([_of(one, algebra) for one in node.options])
    if isinstance(node, Constants):
        values = tuple(value for value in node.values if not isinstance(value, list) or _is_unique(value))
        return Constants(values) if values else NOTHING
    if isinstance(node, Array):
        return _of_array(node, algebra)
    if node is None or (isinstance(node, Anything) and not (isinstance(node, Rest) and "array" not in node.kinds)):
        algebra.losses.grow("items are not compared")
    return option


def _of_array(node: Array, algebra: Algebra) -> Node:
    longest = node.most if node.most is not None else len(node.first) if node.rest is None else None
    if longest is not None and longest <= _MAX_ITEMS and _apart(node, longest, algebra):
        return node
    values = _values(node)
    if values is None or len(values) > _MAX_VALUES:
        algebra.losses.grow(f"items are not compared, unless they are among {_MAX_VALUES} constants")
        return node
    algebra.losses.shrink("the items in the order in which the schema lists them")
    found = tuple(one for one in _choices(values) if algebra.admits(node, one))
    return Constants(found) if found else NOTHING


def _apart(node: Array, longest: int, algebra: Algebra) -> bool:
    """Whether no two items can be equal."""
    items = [arrays.item(node, index) for index in range(longest)]
    return all(algebra.disjoint(one, other) for one, other in combinations(items, 2))


def _values(node: Array) -> tuple[Any, ...] | None:
    """All that an item can be; None where that is no short list."""
    items = [*node.first, *([] if node.rest is None else [node.rest])]
    if not all(isinstance(one, Constants) for one in items):
        return None
    return distinct(value for one in items if isinstance(one, Constants) for value in one.values)


def _choices(values: tuple[Any, ...]) -> Iterator[list[Any]]:
    for count in range(len(values) + 1):
        yield from map(list, combinations(values, count))


def _is_unique(value: list[Any]) -> bool:
    return len({identity(one) for one in value}) == len(value)
