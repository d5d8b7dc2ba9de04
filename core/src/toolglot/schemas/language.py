"""Sets of strings: what the patterns, formats and lengths of a schema say."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, lru_cache, reduce
from typing import TypeAlias, TypeVar

from toolglot.schemas import automaton as automata
from toolglot.schemas import expressions, lengths
from toolglot.schemas.automaton import Automaton
from toolglot.schemas.charset import Charset
from toolglot.schemas.expressions import ANYTHING, Expression, TooLargeError
from toolglot.schemas.patterns import Alternative, PatternError, parsed
from toolglot.schemas.runs import Runs, runs
from toolglot.schemas.string_formats import FORMATS
from toolglot.schemas.string_rules import Letters, json_key_letters, json_letters, raw_letters, written

__all__ = [
    "Charset", "Language", "Letters", "PatternError", "TooLargeError", "anything", "apart", "json_key_letters",
    "json_letters", "literals", "pattern", "raw_letters", "rules", "string_format",
]  # fmt: skip

Strings: TypeAlias = Expression | Automaton | Runs
Found = TypeVar("Found")
_MAX_SIZE = 200
"""How large the tree of what is written as an automaton may be."""
_MAX_WIDE = 32
"""How many states with many characters there may be where there is another way to write the same: XGrammar takes about
25 ms for the mask of each (for a vocabulary of 130,000 tokens), and next to nothing for one with few characters.
"""
_GREATEST_COST = 300
"""How many of those milliseconds it may take to count characters one by one."""
_LAST_RESORT = 1500
"""How many where there is no other way."""


class Language:
    r"""A set of strings. Immutable and hashable; equal where the sets are made in the same way, or are as automata.

    Where validators do not agree, as about ``\d``, it has the strings that all of them take. Its complement has those
    that none of them takes. ``narrowed``: it lacks strings that what it was made of admits for all of them.
    """

    __slots__ = ("_outer", "narrowed", "strings")

    def __init__(self, strings: Strings, outer: Callable[[], Strings] | None = None, *, narrowed: bool = False) -> None:
        self.strings = strings
        self.narrowed = narrowed
        self._outer = outer

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Language) and (self.strings, self.narrowed) == (other.strings, other.narrowed)

    def __hash__(self) -> int:
        return hash(self.strings)

    def __repr__(self) -> str:
        return f"Language({self.strings!r}, narrowed={self.narrowed})"

    def intersect(self, other: Language) -> Language:
        """The strings of both.

        Raises:
            TooLargeError: the automaton is too large.
        """
        return self._with(other, _intersection)

    def union(self, other: Language) -> Language:
        """The strings of one of the two.

        Raises:
            TooLargeError: the automaton is too large.
        """
        return self._with(other, _union)

    def complement(self) -> Language:
        """All other strings.

        Raises:
            TooLargeError: the automaton is too large.
        """
        return Language(_complement(self._widest()), lambda: _complement(self.strings), narrowed=self.narrowed)

    def within(self, least: int, most: int | None) -> Language:
        """The strings of ``least`` to ``most`` characters; ``narrowed`` if only some of them can be said.

        Raises:
            TooLargeError: the automaton is too large.
        """
        outer = self._outer or (lambda: self.strings)
        found, whole = _within(self.strings, least, most)
        return Language(found, lambda: _counted(outer(), least, most), narrowed=self.narrowed or not whole)

    def matches(self, text: str) -> bool:
        """Whether the text is one of the strings.

        Raises:
            TooLargeError: it takes too long to find out.
        """
        strings = self.strings
        return strings.matches(text) if isinstance(strings, Automaton | Runs) else expressions.matches(strings, text)

    @property
    def empty(self) -> bool:
        """Whether there are no strings."""
        return self.strings in (expressions.NONE, automata.NOTHING)

    def shortest(self) -> str | None:
        """One of the shortest strings; None where there are none.

        Raises:
            TooLargeError: it is too long to be written out.
        """
        if self.empty:
            return None
        strings = self.strings
        return strings.shortest() if isinstance(strings, Automaton | Runs) else expressions.shortest(strings)

    def _widest(self) -> Strings:
        return self._outer() if self._outer else self.strings

    def _with(self, other: Language, operation: Callable[[Strings, Strings], Strings]) -> Language:
        def outer() -> Strings:
            return operation(self._widest(), other._widest())

        found = operation(self.strings, other.strings)
        return Language(found, outer if self._outer or other._outer else None, narrowed=self.narrowed or other.narrowed)


anything = Language(ANYTHING)
"""All strings."""


@lru_cache(1024)
def pattern(source: str) -> Language:
    """The strings in which a pattern is found, as the keyword ``pattern`` has it.

    Raises:
        PatternError: it is no pattern, or one that no automaton can follow.
        TooLargeError: it is too large.
    """
    return Language(_strings(parsed(source)), lambda: _strings(parsed(source, wide=True)))


@cache
def string_format(name: str) -> Language | None:
    """The strings of a ``format``; None where JSON Schema says nothing of it, or not of strings.

    Raises:
        PatternError: no automaton can tell whether a string is of this format.
    """
    if name == "regex":
        raise PatternError("no grammar can tell whether a text is a regular expression")
    if name not in FORMATS:
        return None
    source, narrowed = FORMATS[name]
    return Language(parsed(f"^(?:{source})$")[0].node, lambda: ANYTHING, narrowed=narrowed)


def literals(names: Iterable[str]) -> Language:
    """Just these strings."""
    return Language(expressions.names(names))


def apart(names: Iterable[str], states: int = 24) -> Language:
    """The strings that are none of these. Where it takes more than about ``states`` states to tell, others are left out
    too, and it is ``narrowed``: those that begin as one of the names does, as far as there are states for.
    """
    found = frozenset(names)
    cut = _told(found, states)
    short = expressions.names(one for one in sorted(found) if len(one) <= cut)
    begun = expressions.names({one[:cut] for one in found if len(one) > cut})
    taken = expressions.choice([short, expressions.sequence([begun, ANYTHING])])
    narrowed = begun != expressions.NONE
    return Language(_complement(taken), lambda: _complement(expressions.names(sorted(found))), narrowed=narrowed)


def _told(names: frozenset[str], states: int) -> int:
    """Up to which character names can be told apart in so many states, one for each way to begin."""
    longest = max(map(len, names), default=0)
    for cut in range(1, longest + 1):
        states -= len({one[:cut] for one in names if len(one) >= cut})
        if states < 0:
            return max(cut - 1, 1)
    return longest


def rules(language: Language, name: str, letters: Letters, end: str = "") -> list[str] | None:
    """EBNF rules for XGrammar, the first of which is ``name``: the strings, spelled as ``letters`` spells characters,
    and behind them ``end``, an EBNF literal that no string is spelled with. None where no string can be spelled.

    Masks are much faster where ``end`` is part of the rules: put the closing quote there. A string of limited length
    may have to end earlier if it has many escapes.
    """
    strings = language.strings
    if not isinstance(strings, Automaton | Runs):
        strings = _small(strings) or strings
    return written(strings, name, letters, end)


def _strings(alternatives: tuple[Alternative, ...]) -> Strings:
    return reduce(_union, map(_alternative, alternatives))


def _alternative(one: Alternative) -> Strings:
    found: Strings = one.node
    for condition in one.conditions:
        found = _intersection(found, condition.node if condition.positive else _complement(condition.node))
    return (automata.tree(found) or found) if isinstance(found, Automaton) else found


def _union(one: Strings, other: Strings) -> Strings:
    if expressions.NONE in (one, other):
        return other if one == expressions.NONE else one
    if isinstance(one, Automaton | Runs) or isinstance(other, Automaton | Runs):
        return automata.joined(_automaton(one), _automaton(other))
    return ANYTHING if ANYTHING in (one, other) else expressions.choice([one, other])


def _intersection(one: Strings, other: Strings) -> Strings:
    if ANYTHING in (one, other) or one == other:
        return other if one == ANYTHING else one
    for counted, limited in ((one, other), (other, one)):
        if isinstance(counted, Runs):
            least, most = (limited.least, limited.most) if isinstance(limited, Runs) else (0, None)
            return _narrower(counted, automata.intersection(counted.automaton, _unlimited(limited)), least, most)
    return automata.intersection(_automaton(one), _automaton(other))


def _complement(strings: Strings) -> Strings:
    return automata.complement(_automaton(strings))


def _within(strings: Strings, least: int, most: int | None) -> tuple[Strings, bool]:
    """The strings that are that long, and whether they are all; the first way to say it that a grammar is fast with.

    Raises:
        TooLargeError: there is none.
    """
    if isinstance(strings, Runs):
        return _narrower(strings, strings.automaton, least, most), True
    tree = None if isinstance(strings, Automaton) else lengths.within(strings, least, most)
    if tree is not None and lengths.cost(tree) <= _GREATEST_COST:
        return tree, True
    counted = _if_small(lambda: _counted(strings, least, most))
    if counted is not None and (most is None or counted.cost <= _GREATEST_COST):
        return counted, True
    part = None if isinstance(strings, Automaton) else lengths.shorter(strings, least, most)
    if part is not None and expressions.lengths(strings)[1] is not None and lengths.cost(part) <= _GREATEST_COST:
        return part, False
    if most is not None and (some := _if_small(lambda: runs(_automaton(strings), least, most))):
        return some, False
    if part is not None and lengths.cost(part) <= _LAST_RESORT:
        return part, part == tree
    raise TooLargeError(f"an automaton for a pattern and {least} to {most} characters would be too large")


def _narrower(one: Runs, automaton: Automaton, least: int, most: int | None) -> Strings:
    """The strings of an automaton that have the lengths of the runs, and these too."""
    least, most = max(one.least, least), one.most if most is None else min(one.most, most)
    if _if_small(lambda: _counted(automaton, least, most)) == automata.NOTHING:
        return automata.NOTHING
    found = runs(automaton, least, most)
    if found is None:
        raise TooLargeError(f"strings of {least} to {most} characters cannot be counted")
    return found


def _if_small(operation: Callable[[], Found]) -> Found | None:
    try:
        return operation()
    except TooLargeError:
        return None


def _counted(strings: Strings, least: int, most: int | None) -> Automaton:
    return automata.within(_automaton(strings), least, most)


def _unlimited(strings: Strings) -> Automaton:
    """An automaton of the strings, without the limits of runs."""
    return strings.automaton if isinstance(strings, Runs) else _automaton(strings)


@lru_cache(256)
def _automaton(strings: Strings) -> Automaton:
    if isinstance(strings, Runs):
        return automata.within(strings.automaton, strings.least, strings.most)
    return strings if isinstance(strings, Automaton) else automata.automaton(strings)


@lru_cache(256)
def _small(node: Expression) -> Automaton | None:
    """The automaton of a tree, if it is small enough to be written state by state."""
    if expressions.size(node) > _MAX_SIZE:
        return None
    try:
        found = _automaton(node)
    except TooLargeError:
        return None
    return found if found.wide_states <= _MAX_WIDE else None
