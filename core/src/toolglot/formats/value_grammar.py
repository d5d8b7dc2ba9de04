"""What a grammar admits as a value: the normal form of a schema as EBNF, whatever the way of writing it.

Properties come in the order of their declaration. References become rules that refer to themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from toolglot.errors import GrammarError
from toolglot.formats.ebnf import Rules, one_of, text
from toolglot.formats.member_grammar import Member, MemberList, item_list
from toolglot.formats.name_kinds import told_apart
from toolglot.formats.number_grammar import number
from toolglot.schemas.language import Language
from toolglot.schemas.normal import (
    Anything,
    Array,
    Constants,
    Node,
    Number,
    Object,
    Others,
    Property,
    Reference,
    String,
    Union,
)

ANY_OBJECT = Object(others=(Others(Anything()),))


class Keys(Protocol):
    """How the keys of an object are written, and what stands between them and the values."""

    def key(self, name: str) -> str | None:
        """That of a declared member."""

    def other_key(self, names: Language | None, declared: tuple[str, ...]) -> str | None:
        """Any of ``names`` (None: any name) that is none of ``declared``."""


class ValueGrammar:
    """Writes the rules of one grammar; its kinds say how strings, constants and keys are written.

    Expressions are EBNF. None stands for a value that cannot be written.
    """

    comma = '", "'
    """What stands between two items."""
    brace = "{"
    space = ""
    """What may stand inside brackets, at their edges."""

    def __init__(self, definitions: Mapping[str, Node], rules: Rules | None = None, *, any_order: bool = False) -> None:
        self.rules = Rules() if rules is None else rules
        self.definitions = definitions
        self.any_order = any_order
        self.faults: list[str] = []
        """Why members that are required cannot be written."""
        self._defined: dict[str, str] = {}

    # -- what its kinds say

    def constant(self, value: Any) -> str | None:
        """Just this value, which is neither an object nor an array."""
        raise NotImplementedError

    def string(self, node: String) -> str | None:
        """A string."""
        raise NotImplementedError

    def key(self, name: str) -> str | None:
        """As in :class:`Keys`."""
        raise NotImplementedError

    def other_key(self, names: Language | None, declared: tuple[str, ...]) -> str | None:
        """As in :class:`Keys`."""
        raise NotImplementedError

    # -- values

    def value(self, node: Node) -> str | None:
        """A value."""
        match node:
            case Anything():
                return self._anything()
            case Constants(values):
                return self.either("constant", [self._constant(one) for one in values])
            case Number():
                return number(node, self.rules)
            case String():
                return self.string(node)
            case Array():
                return self._array(node)
            case Object():
                return self._object(node)
            case Union(options):
                return self.either("union", [self.value(one) for one in options])
            case Reference(name):
                return self._reference(name)

    def members(self, node: Object, keys: Keys | None = None) -> str | None:
        """What stands between the braces of an object; ``keys`` say how its own keys are written."""
        node = told_apart(node)
        keys, names = keys or self, tuple(one.name for one in node.properties)
        declared = [(one, self._member(one, keys)) for one in node.properties]
        others = [self._other(one, names, keys) for one in node.others]
        return self.listed(node, declared, others, self.comma)

    def listed(
        self,
        node: Object,
        declared: list[tuple[Property, str | None]],
        others: list[str | None],
        comma: str,
        *,
        any_order: bool = True,
    ) -> str | None:
        """Members, each as it is written, with ``comma`` between them; in any order, if the grammar says so too."""
        missing = [one.name for one, member in declared if one.required and member is None]
        if missing:
            self.faults += [f"the required {name!r} cannot be written" for name in missing]
            return None
        found: list[Member] = [(one.required, member) for one, member in declared if member is not None]
        members = MemberList(self.rules, node, found, [one for one in others if one is not None], comma)
        return members.in_any_order() if any_order and self.any_order else members.in_order()

    def either(self, hint: str, options: list[str | None]) -> str | None:
        """One of those that there are."""
        found = [one for one in options if one is not None]
        return self.rules.name(hint, one_of(found)) if found else None

    def _constant(self, value: Any) -> str | None:
        match value:
            case dict():
                return self.value(constant_object(value))
            case list():
                return self.value(Array(tuple(Constants((one,)) for one in value), None, len(value)))
        return self.constant(value)

    def _reference(self, name: str) -> str:
        if name not in self._defined:
            rule = self._defined[name] = self.rules.reserve("definition")
            body = self.value(self.definitions[name])
            if body is None:
                raise GrammarError("a schema that refers to itself admits nothing that can be written", param="tools")
            self.rules.define(rule, body)
        return self._defined[name]

    def _anything(self) -> str:
        if "" not in self._defined:
            rule = self._defined[""] = self.rules.reserve("anything")
            kinds: list[Node] = [Constants((True, False, None)), String(), Number(), Array(), ANY_OBJECT]
            self.rules.define(rule, " | ".join(filter(None, map(self.value, kinds))))
        return self._defined[""]

    def _array(self, node: Array) -> str | None:
        first = [self.value(one) for one in node.first]
        rest = None if node.rest is None or node.most == 0 else self.value(node.rest)
        return self.bracketed("array", "[", item_list(self.rules, node, first, rest, self.comma), "]")

    def _object(self, node: Object) -> str | None:
        return self.bracketed("object", self.brace, self.members(node), "}")

    def bracketed(self, hint: str, opener: str, inside: str | None, closer: str) -> str | None:
        """What stands inside brackets, in them."""
        if inside is None:
            return None
        parts = [text(opener), self.space, inside, self.space, text(closer)]
        return self.rules.name(hint, " ".join(filter(None, parts)))

    def _member(self, declared: Property, keys: Keys) -> str | None:
        key, value = keys.key(declared.name), self.value(declared.value)
        return None if key is None or value is None else self.rules.name("member", f"{key} {value}")

    def _other(self, others: Others, declared: tuple[str, ...], keys: Keys) -> str | None:
        value = self.value(others.value)
        key = None if value is None else keys.other_key(others.names, declared)
        return None if key is None else self.rules.name("other", f"{key} {value}")


def alternatives(node: Node, definitions: Mapping[str, Node], seen: tuple[str, ...] = ()) -> Iterator[Node]:
    """What a node is one of, where it is a union or refers to something: no unions and no references."""
    match node:
        case Union(options):
            for one in options:
                yield from alternatives(one, definitions, seen)
        case Reference(name):
            if name not in seen:
                yield from alternatives(definitions[name], definitions, (*seen, name))
        case _:
            yield node


def objects(node: Node, definitions: Mapping[str, Node]) -> Iterator[Object]:
    """The objects that a node admits, each of which may be one of many."""
    for one in alternatives(node, definitions):
        match one:
            case Object():
                yield told_apart(one)
            case Anything():
                yield ANY_OBJECT
            case Constants(values):
                yield from (constant_object(value) for value in values if isinstance(value, dict))


def constant_object(value: Mapping[str, Any]) -> Object:
    """The node of just this object."""
    return Object(tuple(Property(key, Constants((part,)), True) for key, part in value.items()))
