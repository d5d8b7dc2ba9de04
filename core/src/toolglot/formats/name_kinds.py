"""Kinds of names of members that are not declared, so that an object has as many different ones as it must.

A grammar cannot tell whether a name was there before. Two names of different kinds are two: so where several members
are wanted that are not declared, they are of different kinds.
"""

from __future__ import annotations

import string
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise

from msgspec.structs import replace

from toolglot.schemas.language import Language, TooLargeError, anything, apart, literals, pattern
from toolglot.schemas.normal import Object, Others
from toolglot.schemas.objects import MOST_UNDECLARED

_PLACES = 5
"""At how many of its first characters a name is looked at."""


def told_apart(node: Object) -> Object:
    """The object, with so many ``others`` as it needs to have different members; as it is where they are enough, or
    cannot be more.
    """
    undeclared = node.least - len(node.properties)
    if undeclared < 2:
        return node
    others = list(_free(node))
    wanted = undeclared - len(others) + 1
    for at in reversed(range(len(others) if 1 < wanted <= MOST_UNDECLARED else 0)):
        if kinds := _kinds(others[at].names or anything, wanted):
            found = [Others(others[at].value, names) for names in kinds]
            return replace(node, others=(*others[:at], *found, *others[at + 1 :]))
    return node


def _free(node: Object) -> Iterator[Others]:
    """The ``others`` of an object without the names that are declared, where there are others left."""
    declared = apart(one.name for one in node.properties)
    for one in node.others:
        with suppress(TooLargeError):
            names = (one.names or anything).intersect(declared)
            if not names.empty:
                yield Others(one.value, names)


def _kinds(names: Language, count: int) -> list[Language]:
    """So many kinds of names, told by a letter or as the shortest ones; none where that fails."""
    with suppress(TooLargeError):
        for heads in _heads(names, count):
            found = list(_split(names, heads))
            if not any(one.empty for one in found):
                return found
    return []


def _heads(names: Language, count: int) -> Iterator[list[Language]]:
    """Ways to tell all kinds but the last."""
    letters = string.ascii_lowercase
    cuts = [len(letters) * number // count for number in range(count)]
    classes = [letters[start:end] for start, end in pairwise(cuts)]
    for place in range(_PLACES):
        yield [pattern(rf"^[\s\S]{{{place}}}[{one}]") for one in classes]
    shortest: list[str] = []
    while len(shortest) < count - 1 and (one := names.shortest()) is not None:
        shortest.append(one)
        names = names.intersect(literals((one,)).complement())
    yield [literals((one,)) for one in shortest]


def _split(names: Language, heads: Sequence[Language]) -> Iterator[Language]:
    """The names of each head, and those of none."""
    for head in heads:
        yield names.intersect(head)
        names = names.intersect(head.complement())
    yield names
