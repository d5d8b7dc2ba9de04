"""Sets of arrays: first items, the rest of the items, lengths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from toolglot.schemas.normal import Array, Node
from toolglot.schemas.unsettled import NOTHING, REST

if TYPE_CHECKING:
    from toolglot.schemas.algebra import Algebra


def made(first: Sequence[Node], rest: Node | None, least: int, most: int | None) -> Node:
    """The arrays of these items; :data:`NOTHING` where there are none."""
    if NOTHING in first:
        first, rest = first[: first.index(NOTHING)], None
    if rest == NOTHING or (most is not None and most <= len(first)):
        rest = None
    if most is not None:
        first = first[:most]
    if rest is None:
        most = None if most is None or most >= len(first) else most
    if least > (len(first) if rest is None else least if most is None else most):
        return NOTHING
    return Array(tuple(first), rest, least, most)


def intersect(one: Array, other: Array, algebra: Algebra) -> Node:
    """The arrays in both."""
    first: list[Node] = []
    for index in range(max(len(one.first), len(other.first))):
        first.append(algebra.intersect(item(one, index), item(other, index)))
        if first[-1] == NOTHING:
            break
    rest = None if one.rest is None or other.rest is None else algebra.intersect(one.rest, other.rest)
    most = min((most for most in (one.most, other.most) if most is not None), default=None)
    return made(first, rest, max(one.least, other.least), most)


def complement(node: Array, algebra: Algebra) -> Iterator[Node]:
    """The arrays that are not in it."""
    count = len(node.first)
    if node.least:
        yield Array(rest=REST, most=node.least - 1)
    if node.most is not None:
        yield Array(rest=REST, least=node.most + 1)
    for index, value in enumerate(node.first):
        yield _at(index, algebra.complement(value))
    if node.rest is None:
        yield Array(rest=REST, least=count + 1)
    elif (wrong := algebra.complement(node.rest)) != NOTHING:
        algebra.losses.shrink(f"item {count + 1} is the one that differs")
        yield _at(count, wrong)


def item(node: Array, index: int) -> Node:
    """What the item at ``index`` may be."""
    if index < len(node.first):
        return node.first[index]
    return NOTHING if node.rest is None else node.rest


def _at(index: int, value: Node) -> Node:
    return made([*(REST,) * index, value], REST, index + 1, None)
