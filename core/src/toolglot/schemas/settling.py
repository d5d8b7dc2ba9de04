"""The normal form of what a walk has found: nothing is left unsaid, unsatisfiable or defined in vain."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from toolglot.schemas import arrays, objects
from toolglot.schemas.language import Language, TooLargeError, apart, literals
from toolglot.schemas.nodes import references
from toolglot.schemas.normal import (
    Anything,
    Array,
    Constants,
    Node,
    Normal,
    Number,
    Object,
    Others,
    Property,
    Reference,
    Union,
)
from toolglot.schemas.sharing import shared
from toolglot.schemas.unions import key, typed, united
from toolglot.schemas.unsettled import EVERY, NOTHING, Rest, unsaid
from toolglot.schemas.values import number

_STATES = 64
"""How large the automaton may be of the names that an open object may have."""
_MOST_SETS = 100
"""How many such automata are made."""


def settled(root: Node, definitions: Mapping[str, Node]) -> Normal | None:
    """The normal form; None where no value is admitted.

    What is unsaid is narrowed: an object that declares members has no others, and where a type is spoken of without
    being named, it is meant. Where that would leave no value, it is not.
    """
    for narrow in (True, False):
        found = Settling(definitions, narrow=narrow).normal(root)
        if found is not None:
            return found
    return None


class Settling:
    """One attempt at it."""

    def __init__(self, definitions: Mapping[str, Node], *, narrow: bool) -> None:
        self._raw = definitions
        self._narrow = narrow
        self._definitions: dict[str, Node] = {}
        self._dead: set[str] = set()
        self._done: dict[int, Node] = {}
        self._free: dict[frozenset[str], Language] = {}
        self._same: dict[Hashable, Node] = {}
        """The nodes that were made, so that two that are the same become one."""
        self._kept: list[Node] = []
        """What is in :attr:`_done`, so that no other node gets its id."""

    def normal(self, root: Node) -> Normal | None:
        """The normal form of a node; None where it admits no value."""
        found = self._reached(root)
        while dead := self._uninhabited():
            self._dead |= dead
            self._done.clear()
            found = self._reached(root)
        if found == NOTHING:
            return None
        return shared(found, self._definitions)

    def _reached(self, root: Node) -> Node:
        """The node, with the definitions that it reaches in :attr:`_definitions`."""
        self._definitions = {}
        found = self._node(root)
        waiting = list(references(found))
        while waiting:
            name = waiting.pop()
            if name not in self._definitions:
                self._definitions[name] = self._node(self._raw[name])
                waiting += references(self._definitions[name])
        return found

    def _uninhabited(self) -> set[str]:
        """The definitions that no finite value is of."""
        empty = set(self._definitions)
        while found := {name for name in empty if Habitation(empty).of(self._definitions[name])}:
            empty -= found
        return empty

    def _node(self, node: Node) -> Node:
        """The node, settled: once, as nodes may be shared by many."""
        if id(node) not in self._done:
            self._kept.append(node)
            found = self._settled(node)
            self._done[id(node)] = self._same.setdefault(key(found), found)
        return self._done[id(node)]

    def _settled(self, node: Node) -> Node:
        match node:
            case Union():
                return self._union(node)
            case Rest():
                return Anything() if node.kinds == EVERY else self._node(typed(node.kinds))
            case Array():
                rest = None if node.rest is None else self._node(node.rest)
                return arrays.made([self._node(one) for one in node.first], rest, node.least, node.most)
            case Object():
                return self._object(node)
            case Number():
                return _number(node)
            case Reference() if node.name in self._dead:
                return NOTHING
        return node

    def _union(self, node: Union) -> Node:
        spoken = [option for option in node.options if not isinstance(option, Rest)]
        return united([self._node(option) for option in (spoken if spoken and self._narrow else node.options)])

    def _object(self, node: Object) -> Node:
        declared = [Property(one.name, self._node(one.value), one.required) for one in node.properties]
        found = [one for one in declared if one.value != NOTHING]
        if any(one.required and one.value == NOTHING for one in declared):
            return NOTHING
        closes = self._closes(node, len(found))
        others = [one for one in node.others if not (closes and unsaid(one.value))]
        forbidden = [one.name for one in declared if one.value == NOTHING]
        names = self._apart(frozenset(forbidden)) if forbidden and others else None
        kept = [Others(self._node(one.value), _both(one.names, names)) for one in others]
        return objects.made(found, kept, node.least, node.most)

    def _apart(self, names: frozenset[str]) -> Language:
        """The names that are none of these; no names at all once that has been asked too often."""
        if names not in self._free:
            self._free[names] = apart(names, _STATES) if len(self._free) < _MOST_SETS else literals(())
        return self._free[names]

    def _closes(self, node: Object, possible: int) -> bool:
        """Whether members that no keyword speaks of are left out."""
        if not self._narrow or node.least > possible:
            return False
        return any(isinstance(one.value, Rest) and one.value.closes for one in node.others)


def _both(one: Language | None, other: Language | None) -> Language | None:
    """The names of both (None: all); none where that takes too large an automaton."""
    try:
        return one.intersect(other) if one and other else one or other
    except TooLargeError:
        return literals(())


def _number(node: Number) -> Node:
    """A number that can only be one is a constant."""
    if node.least and node.most and node.least.value == node.most.value:
        return Constants((number(node.least.value),))
    return node


class Habitation:
    """Whether nodes have a value, when the definitions in ``empty`` have none."""

    def __init__(self, empty: set[str]) -> None:
        self._empty = empty
        self._known: dict[int, bool] = {}

    def of(self, node: Node) -> bool:
        """Whether a node has one."""
        if id(node) not in self._known:
            self._known[id(node)] = self._find(node)
        return self._known[id(node)]

    def _find(self, node: Node) -> bool:
        match node:
            case Reference():
                return node.name not in self._empty
            case Union():
                return any(map(self.of, node.options))
            case Array():
                needed = range(min(node.least, len(node.first) + 1))
                return all(self.of(arrays.item(node, index)) for index in needed)
            case Object():
                return self._has_members(node)
        return True

    def _has_members(self, node: Object) -> bool:
        if not all(self.of(one.value) for one in node.properties if one.required):
            return False
        possible = sum(self.of(one.value) for one in node.properties)
        return node.least <= possible or any(self.of(one.value) for one in node.others)
