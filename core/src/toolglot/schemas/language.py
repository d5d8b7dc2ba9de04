"""Sets of strings: what the patterns, formats and lengths of a schema say."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, lru_cache, reduce
from typing import TypeAlias

from toolglot.schemas import automaton as automata
from toolglot.schemas import expressions, lengths
from toolglot.schemas.automaton import Automaton
from toolglot.schemas.charset import Charset
from toolglot.schemas.expressions import ANYTHING, Expression, TooLargeError
from toolglot.schemas.patterns import Alternative, PatternError, parsed
from toolglot.schemas.string_formats import FORMATS
from toolglot.schemas.string_rules import Letters, json_key_letters, json_letters, raw_letters, written

__all__ = [
    "Charset", "Language", "Letters", "PatternError", "TooLargeError", "anything", "apart", "json_key_letters",
    "json_letters", "literals", "pattern", "raw_letters", "rules", "string_format",
]  # fmt: skip

Strings: TypeAlias = Expression | Automaton
_MAX_SIZE = 200
"""How large the tree of what is written as an automaton may be."""
_MAX_WIDE = 32
"""How many states with many characters there may be where there is another way to write the same: XGrammar takes about
25 ms for the mask of each (for a vocabulary of 130,000 tokens), and next to nothing for one with few characters.
"""
_MAX_COUNTED = 256
"""How many there may be where any other way leaves out strings."""


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
        strings, outer = self.strings, self._outer or (lambda: self.strings)
        found = _within(strings, least, most)
        some = None if found or isinstance(strings, Automaton) else lengths.shorter(strings, least, most)
        whole = found or some
        if whole is None:
            raise TooLargeError(f"an automaton for a pattern and {least} to {most} characters would be too large")
        return Language(whole, lambda: _counted(outer(), least, most), narrowed=self.narrowed or found is None)

    def matches(self, text: str) -> bool:
        """Whether the text is one of the strings.

        Raises:
            TooLargeError: it takes too long to find out.
        """
        strings = self.strings
        return strings.matches(text) if isinstance(strings, Automaton) else expressions.matches(strings, text)

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
        return strings.shortest() if isinstance(strings, Automaton) else expressions.shortest(strings)

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
    parts, narrowed = FORMATS[name]
    return Language(expressions.sequence(_part(*part) for part in parts), lambda: ANYTHING, narrowed=narrowed)


def _part(source: str, most: int | None) -> Expression:
    """A part of a format."""
    node = parsed(f"^(?:{source})$")[0].node
    return node if most is None else expressions.limit(node, most)


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

    Masks are much faster where ``end`` is part of the rules: put the closing quote there. A string that comes near to
    its greatest length may have to end some characters before it, by as many as its escapes are longer.
    """
    strings = language.strings
    if not isinstance(strings, Automaton):
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
    if isinstance(one, Automaton) or isinstance(other, Automaton):
        return automata.joined(_automaton(one), _automaton(other))
    return ANYTHING if ANYTHING in (one, other) else expressions.choice([one, other])


def _intersection(one: Strings, other: Strings) -> Strings:
    if ANYTHING in (one, other) or one == other:
        return other if one == ANYTHING else one
    return automata.intersection(_automaton(one), _automaton(other))


def _complement(strings: Strings) -> Strings:
    return automata.complement(_automaton(strings))


def _within(strings: Strings, least: int, most: int | None) -> Strings | None:
    """Just the strings that are that long; None where that takes a large automaton."""
    if not isinstance(strings, Automaton) and (tree := lengths.within(strings, least, most)) is not None:
        return tree
    try:
        counted = _counted(strings, least, most)
    except TooLargeError:
        counted = None
    if counted is not None and (most is None or counted.wide_states <= _MAX_WIDE):
        return counted
    if most is not None and not isinstance(strings, Automaton) and (limited := _limited(strings, least, most)):
        return limited
    return counted if counted is not None and counted.wide_states <= _MAX_COUNTED else None


def _limited(node: Expression, least: int, most: int) -> Expression | None:
    """The strings that are that long, if a grammar may stop one soon after wherever it is."""
    long = lengths.within(node, least, None)
    if long is None:
        return None
    try:
        margin = _automaton(long).margin
    except TooLargeError:
        return None
    return expressions.limit(long, most) if margin is not None and margin < most else None


def _counted(strings: Strings, least: int, most: int | None) -> Automaton:
    return automata.within(_automaton(strings), least, most)


@lru_cache(256)
def _automaton(strings: Strings) -> Automaton:
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
