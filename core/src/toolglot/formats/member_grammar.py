"""Lists in a grammar: the members of an object, the items of an array. Expressions are EBNF; None is what cannot be
written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from toolglot.formats.ebnf import Rules, one_of, times
from toolglot.schemas.normal import Array, Object

Member = tuple[bool, str]
"""Whether a member is required, and its expression."""


class MemberList:
    """The members of an object: the declared ones in their order, those that are not required optional, then others.

    ``comma`` stands between two; it may be empty. No name is of two of the ``others``.
    """

    def __init__(
        self, rules: Rules, node: Object, declared: Sequence[Member], others: Iterable[str], comma: str
    ) -> None:
        self._rules = rules
        self._node = node
        self._declared = declared
        self._others = list(others)
        self._other = _either(rules, self._others)
        self._comma = comma
        self._counted = max(node.least, 0 if node.most is None else node.most + 1, 1)
        self._tails: dict[tuple[int, int], str | None] = {}

    def in_order(self) -> str | None:
        """All members in their order; None where there can be no such object."""
        for at in range(len(self._declared), -1, -1):
            for count in range(min(at, self._counted) + 1):
                self._tails[at, count] = self._tail(at, count)
        return self._tails[0, 0]

    def in_any_order(self) -> str | None:
        """As many members as there may be, in any order."""
        required = sum(required for required, _ in self._declared)
        least, most = max(required, self._node.least), self._node.most
        if self._other is None:
            most = min(len(self._declared), len(self._declared) if most is None else most)
        one = _either(self._rules, [*(member for _, member in self._declared), *([self._other] if self._other else ())])
        return repeated(self._rules, one, least, most, self._comma)

    def _tail(self, at: int, count: int) -> str | None:
        """The members from the ``at``-th on, where ``count`` were written. Counted is only as far as it matters."""
        if self._node.most is not None and count > self._node.most:
            return None
        if at == len(self._declared):
            return self._closing(count)
        required, member = self._declared[at]
        after = self._tails[at + 1, min(count + 1, self._counted)]
        taken = None if after is None else f"{self._next(member) if count else member} {after}".strip()
        left = None if required else self._tails[at + 1, count]
        if left is None or taken is None:
            return taken if left is None else left
        return self._rules.name("members", f"{taken} | " + (left or '""'))

    def _closing(self, count: int) -> str | None:
        """Members that are not declared. As a name may come twice, those of one kind count as one towards the least."""
        short = max(self._node.least - count, 0)
        room = None if self._node.most is None else self._node.most - count
        if short > len(self._others) or (room is not None and short > room):
            return None
        if self._other is None or room == 0:
            return ""
        if short > 1:
            return self._of_each(short, room, first=not count)
        if not count:
            return repeated(self._rules, self._other, short, room, self._comma)
        return times(self._next(self._other), short, room)

    def _of_each(self, short: int, room: int | None, *, first: bool) -> str | None:
        """So many members that are not declared, each of a later kind than the one before, and then any."""
        more = times(self._next(self._other or ""), 0, None if room is None else room - short)
        found: list[str | None] = [more, *(None,) * short]  # by how many are still to come
        for one in reversed(self._others):
            for missing in range(short, 0, -1):
                behind, others = found[missing - 1], found[missing]
                if behind is not None:
                    member = one if first and missing == short else self._next(one)
                    ways = [f"{member} {behind}".strip(), *([others] if others else ())]
                    found[missing] = self._rules.name("others", " | ".join(ways))
        return found[short]

    def _next(self, member: str) -> str:
        return self._rules.name("next", f"{self._comma} {member}") if self._comma else member


def item_list(rules: Rules, node: Array, first: Sequence[str | None], rest: str | None, comma: str) -> str | None:
    """The items of an array: ``first`` and ``rest`` are those of the node. None where there can be no such array."""
    room = len(first)
    if None in first:  # an item that cannot be written ends the array before it
        room, rest = first.index(None), None
    most = node.most
    if rest is None:
        most = room if most is None else min(room, most)
    if most is not None and node.least > most:
        return None
    fixed = [one for one in first[: room if most is None else min(room, most)] if one is not None]
    if not fixed:
        return repeated(rules, rest, node.least, most, comma)
    far = None if most is None else most - len(fixed)
    more = _behind(rules, rest, max(node.least - len(fixed), 0), far, comma)
    for number in range(len(fixed) - 1, 0, -1):
        more = rules.name("items", f"{comma} {fixed[number]} {more}".strip())
        more += "" if number < node.least else "?"
    whole = f"{fixed[0]} {more}".strip()
    return whole if node.least else f"({whole})?"


def repeated(rules: Rules, item: str | None, least: int, most: int | None, comma: str) -> str | None:
    """``item`` ``least`` to ``most`` times (None: without a limit), with commas between."""
    if (item is None and least) or (most is not None and least > most):
        return None
    if item is None or most == 0:
        return ""
    whole = f"{item} {_behind(rules, item, max(least - 1, 0), None if most is None else most - 1, comma)}".strip()
    return whole if least else f"({whole})?"


def _behind(rules: Rules, item: str | None, least: int, most: int | None, comma: str) -> str:
    """So many more items, each behind a comma."""
    if item is None:
        return ""
    return times(rules.name("more", f"{comma} {item}") if comma else item, least, most)


def _either(rules: Rules, members: Iterable[str]) -> str | None:
    found = list(members)
    return rules.name("either", one_of(found)) if found else None
