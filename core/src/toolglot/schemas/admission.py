"""Whether a value is in a node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from toolglot.schemas import numbers
from toolglot.schemas.normal import (
    Anything,
    Array,
    Constants,
    Node,
    Normal,
    Number,
    Object,
    Property,
    Reference,
    String,
    Union,
)
from toolglot.schemas.unsettled import Rest
from toolglot.schemas.values import decimal, identity, kind_of


def admits(normal: Normal, value: Any) -> bool:
    """Whether a JSON value is one that the schema admits, the order of its members aside."""
    return admitted(normal.root, value, lambda name: normal.definitions[name])


def admitted(node: Node, value: Any, resolve: Callable[[str], Node]) -> bool:
    """Whether a JSON value is in ``node``. ``resolve`` gives the node of a reference."""
    if isinstance(node, Union):
        return any(admitted(option, value, resolve) for option in node.options)
    if isinstance(node, Reference):
        return admitted(resolve(node.name), value, resolve)
    if isinstance(node, Constants):
        wanted = identity(value)
        return any(identity(one) == wanted for one in node.values)
    if isinstance(node, Anything):
        return not isinstance(node, Rest) or kind_of(value) in node.kinds
    return _typed(node, value, resolve)


def _typed(node: Number | String | Array | Object, value: Any, resolve: Callable[[str], Node]) -> bool:
    match node, kind_of(value):
        case Number(), "number":
            return numbers.admits(node, decimal(value))
        case String(), "string":
            return _counted(node, len(value)) and (node.language is None or node.language.matches(value))
        case Array(), "array":
            return _counted(node, len(value)) and _items(node, value, resolve)
        case Object(), "object":
            return _counted(node, len(value)) and _members(node, value, resolve)
    return False


def _counted(node: String | Array | Object, count: int) -> bool:
    return node.least <= count and (node.most is None or count <= node.most)


def _items(node: Array, value: list[Any], resolve: Callable[[str], Node]) -> bool:
    if len(value) > len(node.first) and node.rest is None:
        return False
    wanted = [*node.first, *(node.rest,) * (len(value) - len(node.first))]
    return all(one is not None and admitted(one, item, resolve) for one, item in zip(wanted, value, strict=False))


def _members(node: Object, value: Mapping[str, Any], resolve: Callable[[str], Node]) -> bool:
    declared = {one.name: one for one in node.properties}
    if any(one.required and one.name not in value for one in node.properties):
        return False
    return all(_member(node, declared.get(name), name, one, resolve) for name, one in value.items())


def _member(node: Object, declared: Property | None, name: str, value: Any, resolve: Callable[[str], Node]) -> bool:
    if declared is not None:
        return admitted(declared.value, value, resolve)
    return any(
        (others.names is None or others.names.matches(name)) and admitted(others.value, value, resolve)
        for others in node.others
    )
