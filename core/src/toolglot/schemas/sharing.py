"""What is written once in a normal form, and referred to elsewhere, so that no size multiplies."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from toolglot.schemas.nodes import children, references, small, within
from toolglot.schemas.normal import Array, Node, Normal, Object, Others, Property, Reference, Union
from toolglot.schemas.unions import united

_SMALL = 6
"""How many nodes a definition may have that is written where it is referred to."""


def shared(root: Node, definitions: Mapping[str, Node]) -> Normal:
    """The normal form of ``root``: definitions that are recursive, or large and used more than once, are kept; so are
    large nodes that are in several places.
    """
    while isinstance(root, Reference):
        root = definitions[root.name]
    reached = _reachable(root, definitions)
    nodes = list(within(root, *reached.values()))
    uses = Counter(one.name if isinstance(one, Reference) else id(one) for node in nodes for one in children(node))
    endless = _endless(reached)
    kept = [name for name, node in reached.items() if name in endless or _worth(node, uses[name])]
    known = {id(node) for node in reached.values()}
    common = [node for node in nodes if id(node) not in known and _worth(node, uses[id(node)])]
    if not reached and not common:
        return Normal(root)
    names = _identifiers(kept)
    places = {id(node): Reference(f"shared_{number}") for number, node in enumerate(common, 1)}
    sharing = Sharing(names, reached, places)
    found = {names[name]: sharing.body(reached[name]) for name in kept}
    found |= {places[id(node)].name: sharing.body(node) for node in common}
    return Normal(sharing.body(root), found)


class Sharing:
    """Nodes rewritten: references have the names in ``names``, or are replaced by what they refer to; nodes become
    references whose ids are in ``places``.
    """

    def __init__(
        self, names: Mapping[str, str], definitions: Mapping[str, Node], places: Mapping[int, Reference]
    ) -> None:
        self._names = names
        self._definitions = definitions
        self._places = places

    def body(self, node: Node) -> Node:
        """The node itself, what is in it rewritten."""
        match node:
            case Reference() if node.name in self._names:
                return Reference(self._names[node.name])
            case Reference():
                return self.body(self._definitions[node.name])
            case Union():
                return united([self._node(option) for option in node.options])
            case Array():
                rest = None if node.rest is None else self._node(node.rest)
                return Array(tuple(map(self._node, node.first)), rest, node.least, node.most)
            case Object():
                properties = tuple(Property(one.name, self._node(one.value), one.required) for one in node.properties)
                others = tuple(Others(self._node(one.value), one.names) for one in node.others)
                return Object(properties, others, node.least, node.most)
        return node

    def _node(self, node: Node) -> Node:
        return self._places.get(id(node)) or self.body(node)


def _worth(node: Node, uses: int) -> bool:
    return uses > 1 and not (small(node, _SMALL) and not references(node))


def _reachable(root: Node, definitions: Mapping[str, Node]) -> dict[str, Node]:
    found: dict[str, Node] = {}
    waiting = list(references(root))
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = definitions[name]
            waiting += references(found[name])
    return found


def _endless(definitions: Mapping[str, Node]) -> set[str]:
    """The definitions that references lead from without an end."""
    edges = {name: references(node) for name, node in definitions.items()}
    left = set(edges)
    while ended := {name for name in left if edges[name].isdisjoint(left)}:
        left -= ended
    return left


def _identifiers(names: Iterable[str]) -> dict[str, str]:
    """Names for definitions that any grammar can use."""
    last = {name: re.sub(r"[^A-Za-z0-9]+", "_", name.rsplit("/", 1)[-1]).strip("_").lower() for name in names}
    return {name: f"{word or 'part'}_{number}" for number, (name, word) in enumerate(last.items(), 1)}
