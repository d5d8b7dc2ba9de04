"""Unions in their plainest form."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

from toolglot.schemas.normal import Anything, Array, Constants, Node, Object, Union
from toolglot.schemas.unsettled import EVERY, NOTHING, REST, TYPED, Rest
from toolglot.schemas.values import distinct, identity


def options(node: Node) -> tuple[Node, ...]:
    """What a node is a union of; itself where it is none."""
    return node.options if isinstance(node, Union) else (node,)


def united(nodes: Iterable[Node]) -> Node:
    """Whatever one of the nodes admits: no union in a union, its constants and its :class:`Rest` in one option."""
    flat = [option for node in nodes for option in options(node)]
    if len(flat) == 1:
        return flat[0]
    if any(type(option) is Anything for option in flat):
        return Anything()
    found = [*_constants(flat), *_others(flat), *_rests(flat)]
    if REST in found:
        return REST
    return found[0] if len(found) == 1 else Union(tuple(found)) if found else NOTHING


def typed(kinds: Iterable[str]) -> Node:
    """All values of these kinds."""
    wanted = frozenset(kinds)
    return Anything() if wanted == EVERY else united(node for kind, node in TYPED.items() if kind in wanted)


def _constants(flat: list[Node]) -> Iterator[Node]:
    values = [value for option in flat if isinstance(option, Constants) for value in option.values]
    if values:
        yield Constants(distinct(values))


def _others(flat: list[Node]) -> list[Node]:
    found: dict[Hashable, Node] = {}
    for option in flat:
        if not isinstance(option, Constants | Rest):
            found.setdefault(key(option), option)
    return list(found.values())


def key(node: Node) -> Hashable:
    """What two nodes have in common only if they are the same. Those in them are the same if they are one object: large
    ones may be shared by many.
    """
    match node:
        case Constants():
            return Constants, tuple(map(identity, node.values))
        case Union():
            return Union, tuple(map(id, node.options))
        case Array():
            return Array, tuple(map(id, node.first)), id(node.rest), node.least, node.most
        case Object():
            properties = tuple((one.name, id(one.value), one.required) for one in node.properties)
            return Object, properties, tuple((id(one.value), one.names) for one in node.others), node.least, node.most
    return node


def _rests(flat: list[Node]) -> Iterator[Node]:
    rests = [option for option in flat if isinstance(option, Rest)]
    if rests:
        yield Rest(frozenset().union(*(rest.kinds for rest in rests)))
