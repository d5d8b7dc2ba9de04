"""Intersection and complement of nodes, with references among them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from toolglot.schemas import arrays, numbers, objects, strings
from toolglot.schemas.admission import admitted
from toolglot.schemas.language import TooLargeError, apart, literals
from toolglot.schemas.normal import (
    Anything,
    Array,
    Constants,
    Node,
    Number,
    Object,
    Property,
    Reference,
    String,
    Union,
)
from toolglot.schemas.references import References
from toolglot.schemas.unions import options, typed, united
from toolglot.schemas.unsettled import EVERY, NOTHING, REST, Rest, kind
from toolglot.schemas.values import decimal, kind_of

_MANY_TEXTS = 200
"""Up to how many strings are told apart from all others by each of their characters."""
MAX_OPTIONS = 128
"""How many options the intersection of two unions may have."""


class Algebra(References):
    """Operations on nodes that share their definitions."""

    def intersect(self, one: Node, other: Node) -> Node:
        """The values in both."""
        self.effort.spend()
        if one is other or (_everything(other) and not isinstance(one, Anything)):
            return one
        if _everything(one) and not isinstance(other, Anything):
            return other
        if isinstance(one, Reference) or isinstance(other, Reference):
            return self.of_references("and", self.intersect, one, other)
        if isinstance(one, Union) or isinstance(other, Union):
            return self._of_unions(one, other)
        if isinstance(one, Anything) or isinstance(other, Anything):
            return _with_anything(one, other)
        return self._of_values(one, other)

    def complement(self, node: Node) -> Node:
        """All values but those of the node."""
        self.effort.spend()
        if isinstance(node, Reference):
            return self.of_references("not", self.complement, node)
        if isinstance(node, Union):
            found: Node = REST
            for option in node.options:
                found = self.intersect(found, self.complement(option))
            return Anything() if found is REST else found
        if isinstance(node, Rest):
            return typed(EVERY - node.kinds)
        if isinstance(node, Anything):
            return NOTHING
        if isinstance(node, Constants):
            return self._except(node.values)
        return united([typed(EVERY - {kind(node)}), *self._contrary(node)])

    def disjoint(self, one: Node, other: Node) -> bool:
        """Whether it is certain that no value is in both."""
        around = self.lost()
        found = self.intersect(one, other)
        mine, self.losses = self.losses, around
        return found == NOTHING and mine.smaller is None

    def admits(self, node: Node, value: Any) -> bool:
        """Whether a value is in the node, as far as its references are known."""
        self.effort.spend(len(value) // 8 if isinstance(value, str) else 1)
        try:
            return admitted(node, value, self._node)
        except TooLargeError as error:
            self.losses.grow(str(error))
            return True

    def _node(self, name: str) -> Node:
        found = self.resolved(Reference(name))
        if found is None:
            self.losses.grow("a value that refers to what it is part of")
        return found or REST

    def _of_unions(self, one: Node, other: Node) -> Node:
        found: list[Node] = []
        for mine in options(one):
            found += [both for its in options(other) if (both := self.intersect(mine, its)) != NOTHING]
        if len(found) > max(MAX_OPTIONS, len(options(one)), len(options(other))):
            self.losses.shrink(f"the first {MAX_OPTIONS} of {len(found)} alternatives")
            found = found[:MAX_OPTIONS]
        return united(found)

    def _of_values(self, one: Node, other: Node) -> Node:
        if isinstance(other, Constants):
            one, other = other, one
        match one, other:
            case Constants(), _:
                values = tuple(value for value in one.values if self.admits(other, value))
                return Constants(values) if values else NOTHING
            case Number(), Number():
                return numbers.intersect(one, other, self.losses)
            case String(), String():
                return strings.intersect(one, other, self.losses)
            case Array(), Array():
                return arrays.intersect(one, other, self)
            case Object(), Object():
                return objects.intersect(one, other, self)
        return NOTHING

    def _contrary(self, node: Node) -> Iterator[Node]:
        """What is of the node's kind, and not in it."""
        match node:
            case Number():
                return numbers.complement(node, self.losses)
            case String():
                return strings.complement(node, self.losses)
            case Array():
                return arrays.complement(node, self)
            case Object():
                return objects.complement(node, self)
        raise AssertionError(node)

    def _except(self, values: tuple[Any, ...]) -> Node:
        """All values but these."""
        kinds = {kind_of(value) for value in values}
        numeric = [decimal(value) for value in values if kind_of(value) == "number"]
        texts = [value for value in values if isinstance(value, str)]
        plain: list[Node] = [typed(EVERY - kinds)]
        plain += numbers.without(numeric) if numeric else []
        plain += [self._other_texts(texts)] if texts else []
        truths = [value for value in (True, False) if not any(value is one for one in values)]
        plain += [Constants(tuple(truths))] if truths and "boolean" in kinds else []
        return united([*plain, *self._except_nested(values, kinds)])

    def _other_texts(self, texts: list[str]) -> Node:
        """All strings but these; of many, not all: each of their characters would take a state."""
        if len(texts) <= _MANY_TEXTS:
            return strings.of(literals(texts).complement())
        self.losses.shrink(f"strings that begin as one of {len(texts)} do")
        return strings.of(apart(texts))

    def _except_nested(self, values: tuple[Any, ...], kinds: set[str]) -> Iterator[Node]:
        """The arrays but these, and the objects but these, where some of ``values`` are such."""
        for wanted in kinds & {"array", "object"}:
            found = typed([wanted])
            for value in values:
                if kind_of(value) == wanted:
                    found = self.intersect(found, self.complement(structure(value)))
            yield found


def structure(value: Any) -> Node:
    """The node of one array or object."""
    if isinstance(value, list):
        return Array(tuple(Constants((one,)) for one in value), None, least=len(value))
    return Object(tuple(Property(name, Constants((one,)), required=True) for name, one in value.items()))


def _everything(node: Node) -> bool:
    return isinstance(node, Anything) and (not isinstance(node, Rest) or node.kinds == EVERY)


def _with_anything(one: Node, other: Node) -> Node:
    """The intersection of two nodes of which one is :class:`Anything`; what a keyword has said, it has said."""
    if isinstance(one, Rest) and isinstance(other, Rest):
        return Rest(one.kinds & other.kinds, one.closes or other.closes) if one.kinds & other.kinds else NOTHING
    rest, node = (one, other) if isinstance(one, Rest) else (other, one)
    return _of_kinds(rest.kinds, node) if isinstance(rest, Rest) else rest


def _of_kinds(kinds: frozenset[str], node: Node) -> Node:
    if isinstance(node, Constants):
        values = tuple(value for value in node.values if kind_of(value) in kinds)
        return Constants(values) if values else NOTHING
    if isinstance(node, Anything):
        return typed(kinds)
    return node if kind(node) in kinds else NOTHING
