"""The nodes within a node."""

from __future__ import annotations

from collections.abc import Iterator

from toolglot.schemas.normal import Array, Constants, Node, Object, Reference, Union


def children(node: Node) -> Iterator[Node]:
    """The nodes that a node is made of."""
    match node:
        case Union():
            yield from node.options
        case Array():
            yield from node.first
            if node.rest is not None:
                yield node.rest
        case Object():
            yield from (one.value for one in node.properties)
            yield from (one.value for one in node.others)


def within(*nodes: Node) -> Iterator[Node]:
    """The nodes and all that they are made of, each once, however often it is there."""
    seen: set[int] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if id(node) not in seen:
            seen.add(id(node))
            yield node
            waiting += children(node)


def references(node: Node) -> set[str]:
    """The names of all references in a node."""
    return {one.name for one in within(node) if isinstance(one, Reference)}


def small(node: Node, most: int) -> bool:
    """Whether a node is made of at most that many, constants counted singly."""
    return _left(node, most) >= 0


def _left(node: Node, most: int) -> int:
    left = most - (len(node.values) if isinstance(node, Constants) else 1)
    for one in children(node):
        if left < 0:
            break
        left = _left(one, left)
    return left
