"""Regular expressions as trees: characters, sequences, choices and repetitions, nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from os.path import commonprefix
from typing import TypeAlias

from toolglot.errors import GrammarError
from toolglot.schemas.charset import EVERYTHING, Charset, single, union

MAX_STEPS = 100_000
"""How much work a question about one set of strings may take, in steps of about a microsecond."""

_DEEPEST = 100
"""How deep a tree of names may be."""


class TooLargeError(GrammarError):
    """A set of strings needs too many states, or too long to build or to look through."""


@dataclass(frozen=True)
class _Node:
    """A part of a tree. Trees are asked for often whether they are equal, so the hash of each is worked out once."""

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((type(self), *self.__dict__.values()))


@dataclass(frozen=True)
class Chars(_Node):
    """One character of a set that is not empty."""

    among: Charset

    __hash__ = _Node.__hash__


@dataclass(frozen=True)
class Sequence(_Node):
    """One after the other."""

    parts: tuple[Expression, ...]

    __hash__ = _Node.__hash__


@dataclass(frozen=True)
class Choice(_Node):
    """One of these, none of which is the empty text alone."""

    options: tuple[Expression, ...]

    __hash__ = _Node.__hash__


@dataclass(frozen=True)
class Repeat(_Node):
    """``least`` to ``most`` times (None: as often as one likes)."""

    part: Expression
    least: int
    most: int | None

    __hash__ = _Node.__hash__


Expression: TypeAlias = Chars | Sequence | Choice | Repeat

EMPTY = Sequence(())
"""The empty text."""
NONE = Choice(())
"""No text."""


def chars(among: Charset) -> Expression:
    """One of the characters."""
    return Chars(among) if among else NONE


def text(characters: str) -> Expression:
    """Just this text; none where it has half of a surrogate pair."""
    return sequence(chars(single(one)) for one in characters)


def names(texts: Iterable[str], depth: int = 0) -> Expression:
    """One of these texts; those that begin alike share their beginning, so that no two ways begin alike."""
    behind: dict[str, list[str]] = {}
    for one in dict.fromkeys(texts):
        behind.setdefault(one[:1], []).append(one)
    return choice(_name(group, depth) for group in behind.values())


def _name(group: list[str], depth: int) -> Expression:
    shared = commonprefix(group)  # noqa: RUF071  # these are no paths
    rest = [one[len(shared) :] for one in group]
    deeper = choice(map(text, rest)) if depth > _DEEPEST else names(rest, depth + 1)
    return sequence([text(shared), EMPTY if rest == [""] else deeper])


def sequence(parts: Iterable[Expression]) -> Expression:
    """One after the other."""
    flat: list[Expression] = []
    for part in parts:
        for one in part.parts if isinstance(part, Sequence) else (part,):
            merged = _merged(flat[-1], one) if flat else None
            flat[-1:] = [*flat[-1:], one] if merged is None else [merged]
    if NONE in flat:
        return NONE
    return flat[0] if len(flat) == 1 else Sequence(tuple(flat))


def _merged(one: Expression, other: Expression) -> Expression | None:
    """Two neighbours as one repetition, where they repeat the same."""
    if not isinstance(one, Repeat) and not isinstance(other, Repeat):
        return None
    first = one if isinstance(one, Repeat) else Repeat(one, 1, 1)
    second = other if isinstance(other, Repeat) else Repeat(other, 1, 1)
    if first.part != second.part:
        return None
    most = None if first.most is None or second.most is None else first.most + second.most
    return Repeat(first.part, first.least + second.least, most)


def choice(options: Iterable[Expression]) -> Expression:
    """One of these."""
    flat: dict[Expression, None] = {}
    for option in options:
        flat.update(dict.fromkeys(option.options if isinstance(option, Choice) else (option,)))
    may_be_empty = EMPTY in flat
    flat.pop(EMPTY, None)
    single = union(one.among for one in flat if isinstance(one, Chars))
    found = [*([Chars(single)] if single else ()), *(one for one in flat if not isinstance(one, Chars))]
    whole = found[0] if len(found) == 1 else Choice(tuple(found))
    return repeat(whole, 0, 1) if may_be_empty else whole


def repeat(part: Expression, least: int, most: int | None) -> Expression:
    """``least`` to ``most`` times."""
    if part in (NONE, EMPTY) or most == 0:
        return EMPTY if least == 0 or part == EMPTY else NONE
    if (least, most) == (1, 1):
        return part
    if isinstance(part, Repeat) and _without_gaps(part, least, most):
        many = None if part.most is None or most is None else part.most * most
        return Repeat(part.part, part.least * least, many)
    return Repeat(part, 0 if nullable(part) else least, most)


def _without_gaps(inner: Repeat, least: int, most: int | None) -> bool:
    """Whether ``least`` to ``most`` times the inner repetition is any number of its part between two numbers."""
    if least == most:
        return True
    if inner.most is None:
        return least > 0 or inner.least <= 1
    return inner.most * least + 1 >= inner.least * (least + 1)


ANYTHING = Repeat(Chars(EVERYTHING), 0, None)
"""Any text."""


def nullable(node: Expression) -> bool:
    """Whether the empty text is one of the texts."""
    return lengths(node)[0] == 0


@lru_cache(4096)
def lengths(node: Expression) -> tuple[int, int | None]:
    """The lengths of the shortest and of the longest text (None: there is no longest). (1, 0) where there is none."""
    match node:
        case Chars():
            return 1, 1
        case Sequence(parts):
            return _sum([lengths(part) for part in parts])
        case Choice(options):
            found = [lengths(option) for option in options]
            longest = [most for _, most in found if most is not None]
            most = max(longest, default=0) if len(longest) == len(found) else None
            return min((least for least, _ in found), default=1), most
        case Repeat(part, least, most):
            shortest, longest_part = lengths(part)
            return shortest * least, None if most is None or longest_part is None else longest_part * most


def _sum(spans: list[tuple[int, int | None]]) -> tuple[int, int | None]:
    longest = [most for _, most in spans if most is not None]
    return sum(least for least, _ in spans), sum(longest) if len(longest) == len(spans) else None


def size(node: Expression) -> int:
    """How many characters the tree has when every repetition is written out."""
    match node:
        case Chars():
            return 1
        case Sequence(parts) | Choice(parts):
            return sum(map(size, parts))
        case Repeat(part, least, most):
            return size(part) * max(least, most or 0, 1)


def shortest(node: Expression) -> str:
    """One of the shortest texts.

    Raises:
        TooLargeError: even that is too long to be written out.
    """
    if lengths(node)[0] > MAX_STEPS:
        raise TooLargeError(f"the shortest text has {lengths(node)[0]} characters")
    match node:
        case Chars(among):
            return among.example()
        case Sequence(parts):
            return "".join(map(shortest, parts))
        case Choice(options):
            return shortest(min(options, key=lambda option: lengths(option)[0]))
        case Repeat(part, least, _):
            return shortest(part) * least if least else ""


def matches(node: Expression, whole: str) -> bool:
    """Whether the text is one of the texts.

    Raises:
        TooLargeError: to find out takes too long.
    """
    return bool(_Positions(whole).after(node, 1) >> len(whole) & 1)


class _Positions:
    """Positions in a text as the bits of a number, so that all of them are followed at once."""

    def __init__(self, whole: str) -> None:
        self._whole = whole
        self._holders: dict[Charset, int] = {}
        self._steps = 0

    def after(self, node: Expression, before: int) -> int:
        """Where a text of the tree may end that begins at one of the positions ``before``."""
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise TooLargeError("a pattern takes too long to be matched with a text")
        match node:
            case Chars(among):
                return (before & self._holding(among)) << 1
            case Sequence(parts):
                for part in parts:
                    before = self.after(part, before) if before else 0
                return before
            case Choice(options):
                found = 0
                for option in options:
                    found |= self.after(option, before)
                return found
            case Repeat(part, least, most):
                return self._repeated(part, least, most, before)

    def _repeated(self, part: Expression, least: int, most: int | None, before: int) -> int:
        for _ in range(least):
            before = self.after(part, before)
            if not before:
                return 0
        if most is None and isinstance(part, Chars):
            return self._run(self._holding(part.among), before)
        found, times = before, least
        while before and (most is None or times < most):
            before = self.after(part, before) & ~found
            found |= before
            times += 1
        return found

    def _run(self, held: int, before: int) -> int:
        """Where one may be who goes on over any number of characters that are held: a carry goes over all at once."""
        return before | ((before & held) + held ^ held)

    def _holding(self, among: Charset) -> int:
        if among not in self._holders:
            bits = "".join("1" if one in among else "0" for one in reversed(self._whole))
            self._holders[among] = int(bits or "0", 2)
        return self._holders[among]
