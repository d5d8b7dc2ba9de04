"""Sets of objects: declared members, other members, counts.

Until a schema is settled, a declared member whose value is :data:`NOTHING` is one that must not be there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from toolglot.schemas.language import Language, literals
from toolglot.schemas.normal import Anything, Node, Object, Others, Property
from toolglot.schemas.strings import tried
from toolglot.schemas.unsettled import NOTHING, REST, Named, unsaid

if TYPE_CHECKING:
    from toolglot.schemas.algebra import Algebra

ANY = (Others(REST),)
MOST_UNDECLARED = 5
"""How many members an object may need that are not declared: a grammar must tell them apart."""
BY_KIND = "members that are not declared differ in how they begin, where several are needed"
"""What is narrowed so that a grammar can count them."""


def made(properties: Iterable[Property], others: Sequence[Others], least: int = 0, most: int | None = None) -> Node:
    """The objects of these members; :data:`NOTHING` where there are none."""
    found = tuple(properties)
    required = sum(one.required for one in found)
    if any(one.required and one.value == NOTHING for one in found) or (most is not None and required > most):
        return NOTHING
    kept = tuple(one for one in others if one.value != NOTHING and not (one.names and one.names.empty))
    possible = sum(one.value != NOTHING for one in found)
    if least > (possible if not kept else least if most is None else most) or (most is not None and least > most):
        return NOTHING
    return Object(found, kept, least, most)


def intersect(one: Object, other: Object, algebra: Algebra) -> Node:
    """The objects in both. The members stand in the order of ``one``, then of ``other``."""
    names = dict.fromkeys([declared.name for node in (one, other) for declared in node.properties])
    ones, others = _declared(one), _declared(other)
    found = []
    for name in names:
        mine, its = ones.get(name) or _undeclared(one, name), others.get(name) or _undeclared(other, name)
        found.append(_joined(name, mine, its, algebra))
        if found[-1].required and found[-1].value == NOTHING:
            return NOTHING
    most = min((most for most in (one.most, other.most) if most is not None), default=None)
    return made(found, list(_regions(one, other, algebra)), max(one.least, other.least), most)


def complement(node: Object, algebra: Algebra) -> Iterator[Node]:
    """The objects that are not in it; those that lack a member first."""
    yield from (made((Named(one.name, NOTHING),), ANY) for one in node.properties if one.required)
    if node.least:
        yield made((), ANY, most=node.least - 1)
    if node.most is not None:
        yield made((), ANY, least=node.most + 1)
        if node.most:
            algebra.losses.shrink(BY_KIND)
    possible = sum(one.value != NOTHING for one in node.properties)
    if not node.others:
        yield made((), ANY, least=possible + 1)
    for one in node.properties:
        yield made((Named(one.name, algebra.complement(one.value), required=True),), ANY)
    if not _unsaid(node) and (node.others or possible):
        algebra.losses.shrink("a member that differs is a declared one, or one too many")


def without(name: str) -> Node:
    """The objects that lack a member."""
    return made((Named(name, NOTHING),), ANY)


def having(names: Iterable[str]) -> Node:
    """The objects that have these members."""
    return made([Named(name, REST, required=True) for name in names], ANY)


def member(node: Object, name: str) -> Property:
    """What is said of a member by its name."""
    return _declared(node).get(name) or _undeclared(node, name)


def counted_by_kind(node: Object) -> bool:
    """Whether a grammar must tell apart members that are not declared, so that there are enough."""
    return bool(node.others) and node.least > sum(one.required for one in node.properties) + 1


def _declared(node: Object) -> dict[str, Property]:
    return {declared.name: declared for declared in node.properties}


def _undeclared(node: Object, name: str) -> Property:
    for others in node.others:
        if others.names is None or others.names.matches(name):
            return (Named if unsaid(others.value) else Property)(name, others.value)
    return Property(name, NOTHING)


def _joined(name: str, one: Property, other: Property, algebra: Algebra) -> Property:
    made_of = Named if isinstance(one, Named) and isinstance(other, Named) else Property
    return made_of(name, algebra.intersect(one.value, other.value), one.required or other.required)


def _regions(one: Object, other: Object, algebra: Algebra) -> Iterator[Others]:
    for mine in one.others:
        for its in other.others:
            names = _common(mine.names, its.names, algebra)
            if names is None or not names.empty:
                yield Others(algebra.intersect(mine.value, its.value), names)


def _common(one: Language | None, other: Language | None, algebra: Algebra) -> Language | None:
    """The names in both; of an automaton that would be too large, none."""
    if one is None or other is None:
        return one or other
    found = tried(lambda: one.intersect(other), algebra.effort)
    if found is None:
        algebra.losses.shrink("no undeclared members, as the automaton of their names would be too large")
    return found or literals(())


def _unsaid(node: Object) -> bool:
    """Whether undeclared members may be anything at all."""
    return any(one.names is None and (type(one.value) is Anything or unsaid(one.value)) for one in node.others)
