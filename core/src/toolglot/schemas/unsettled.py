"""What a schema says before all of it is known: nodes that stand for what no keyword has spoken of yet.

Whether an object is closed, and which types a schema means that names none, is settled once all parts of it have been
joined (see :mod:`toolglot.schemas.settling`). Until then these nodes say exactly what JSON Schema says.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolglot.schemas.normal import Anything, Array, Constants, Node, Number, Object, Others, Property, String, Union

KINDS = ("null", "boolean", "number", "string", "array", "object")
EVERY = frozenset(KINDS)


class Rest(Anything, frozen=True):
    """Any value of these kinds, of which no keyword has said a thing."""

    kinds: frozenset[str] = EVERY
    closes: bool = False
    """As what the undeclared members of an object are: whether a schema declared members, and left these unsaid."""


class Named(Property, frozen=True):
    """A member that is named, as ``required`` does, but that no keyword has evaluated."""


NOTHING = Union(())
"""No value."""
REST = Rest()
NULL = Constants((None,))

TYPED: dict[str, Node] = {
    "null": NULL,
    "boolean": Constants((True, False)),
    "number": Number(),
    "string": String(),
    "array": Array(rest=REST),
    "object": Object(others=(Others(REST),)),
}
"""All values of a kind."""


def kind(node: Node) -> str | None:
    """The kind of a node's values; None where it may have several."""
    return _KINDS.get(type(node))


def unsaid(node: Node) -> bool:
    """Whether no keyword has said a thing of a value."""
    return isinstance(node, Rest) and node.kinds == EVERY


def explicit(node: Node) -> Node:
    """What a schema says that is there, though it may say that anything will do."""
    return Anything() if unsaid(node) else node


def rest_except(kinds: Iterable[str]) -> Rest:
    """Any value that is of none of these kinds."""
    return Rest(EVERY.difference(kinds))


_KINDS: dict[type, str] = {Number: "number", String: "string", Array: "array", Object: "object"}
