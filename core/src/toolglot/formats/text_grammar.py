"""What a grammar admits as text that stands in the output as it is, up to a marker that ends it."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator

from toolglot.formats.ebnf import Rules, text, times
from toolglot.schemas.language import Language, apart, pattern, raw_letters, rules
from toolglot.schemas.normal import String

LETTERS = string.ascii_letters + "_"
_ANY = r"[\0-\U0010ffff]"
_SHORT = 16
"""How long a text is at the most that is short."""
_LISTED = 32
"""Up to how many characters are counted before a text goes on freely."""
_MAX_NAME = 64
_MAX_DESCRIBED = 32
"""How many characters a name has at the most, and one that a pattern describes."""


class TextGrammar:
    """Writes the rules for texts in which none of ``excludes`` occurs. ``before`` and ``behind`` stand around them, and
    then up to ``trail`` characters, those of ``behind``, that the reader takes off where they are there.

    A text that is held to something does not begin with a character of ``not_first``, which would be taken off.
    """

    def __init__(
        self,
        rules: Rules,
        excludes: tuple[str, ...],
        *,
        before: str = "",
        behind: str = "",
        trail: int = 0,
        not_first: str = "",
    ) -> None:
        self._rules = rules
        self._excludes = excludes
        self._before, self._behind = before, behind
        self._trail = trail
        self._not_first = not_first
        self._languages: dict[Language, str | None] = {}

    def constant(self, value: str) -> str | None:
        """Just this text."""
        if not _utf8(value) or any(one in value for one in self._excludes) or value.startswith((*self._not_first,)):
            return None
        return self._framed(text(value))

    def string(self, node: String, *, not_first: str = "") -> list[str]:
        """A text that the node admits, which begins with none of ``not_first``: the ways to write it, each of which is
        to stand directly before what ends the text, which XGrammar must know where it counts characters.
        """
        if node.language is not None:
            return self.language(node.language)
        if node.most is not None and node.least > node.most:
            return []
        if not node.least and node.most is None and not not_first:
            return [self._framed(self._free())]
        return list(self._measured(node.least, node.most, self._not_first + not_first))

    def language(self, language: Language) -> list[str]:
        """A text of a language, likewise."""
        if language not in self._languages:
            self._languages[language] = self._spelled(language)
        found = self._languages[language]
        return [] if found is None else [self._framed(found)]

    def _framed(self, inside: str) -> str:
        return " ".join(filter(None, (self._before, inside, self._behind)))

    def _free(self) -> str:
        if not self._excludes:
            return self._rules.name("free", f"{_ANY}*")
        listed = ", ".join(map(text, self._excludes))
        return self._rules.name("free", f"TagDispatch(loop_after_dispatch=false, excludes=({listed}))")

    def _measured(self, least: int, most: int | None, not_first: str) -> Iterator[str]:
        """A text of so many characters. XGrammar is fast only where it counts a class of characters, up to one that is
        not in it: so what is counted holds none with which excluded text begins, and if it may be long, ends with the
        trail or without it.
        """
        with_trail = least + self._trail if least else 0
        if self._trail and most is not None and most > _SHORT and with_trail <= most:
            yield from self._counted(with_trail, most, not_first)
        else:
            yield from map(self._framed, self._counted(least, most, not_first))

    def _counted(self, least: int, most: int | None, not_first: str) -> Iterator[str]:
        stops = "".join(one[0] for one in self._excludes)
        head = but(stops + not_first) if not_first else ""
        rest, char = max(least - bool(head), 0), but(stops)
        if most is not None:
            counted = times(char, rest, most - bool(head)) if most >= bool(head) else ""
        elif rest <= _LISTED:
            counted = f"{times(char, rest, rest)} {self._free()}"
        else:
            counted = times(char, rest, None)
        if most != 0:
            yield " ".join(filter(None, (head, counted)))
        if most == 0 or (head and not least):
            yield '""'
        if most is None and least == 1:
            yield from (f"{mark} {self._free()}" for mark in self._marks(stops))

    def _marks(self, stops: str) -> Iterator[str]:
        """How a text begins that begins as excluded text does, and then goes on otherwise."""
        for some in sorted({one[:size] for one in self._excludes for size in range(1, len(one))}):
            if not any(char in stops for char in some[1:]):
                ahead = "".join(one[len(some)] for one in self._excludes if one.startswith(some) and one != some)
                yield f"{text(some)} {but(stops + ahead)}"

    def _spelled(self, language: Language) -> str | None:
        """The texts of a language without the characters with which excluded text begins, if there are such texts; that
        is by far the smallest grammar.
        """
        found = spelled(self._rules, language, "".join(one[0] for one in self._excludes) + self._not_first)
        if found is not None or not (self._excludes or self._not_first):
            return found
        for one in self._not_first:
            language = language.intersect(pattern(f"^{re.escape(one)}").complement())
        for one in self._excludes:
            language = language.intersect(pattern(re.escape(one)).complement())
        return spelled(self._rules, language)


def spelled(rules_: Rules, language: Language, excluded: str = "") -> str | None:
    """A rule for the texts of a language as they are, without the ``excluded`` characters; None where there is none."""
    name = rules_.reserve("text")
    written = rules(language, name, raw_letters(excluded))
    for line in written or (f'{name} ::= ""',):  # where there are none, a rule that nothing refers to
        rule, _, body = line.partition(" ::= ")
        rules_.define(rule, body)
    return name if written else None


def free_names(rules_: Rules, names: Language | None, declared: tuple[str, ...], signs: str = "") -> str | None:
    """A rule for the names of members that are not declared: of ASCII letters, ``_``, digits and ``signs``, the last
    two not first; those in ``names`` where such are given.
    """
    if names is None:
        return _Names(rules_, frozenset(declared), LETTERS + string.digits + signs).rule("", LETTERS)
    language = names.intersect(pattern(f"^[A-Za-z_][A-Za-z0-9_{re.escape(signs)}]*$")).within(1, _MAX_DESCRIBED)
    return spelled(rules_, language.intersect(apart(declared)) if declared else language)


class _Names:
    """Names, told from those that are taken letter by letter."""

    def __init__(self, rules_: Rules, taken: frozenset[str], others: str) -> None:
        self._rules = rules_
        self._taken = {name for name in taken if len(name) <= _MAX_NAME}
        self._others = others

    def rule(self, begun: str, letters: str) -> str:
        """A name that goes on with one of ``letters`` behind ``begun``."""
        ahead = sorted({name[len(begun)] for name in self._taken if len(name) > len(begun) and name.startswith(begun)})
        ahead = [char for char in ahead if char in letters]
        room = _MAX_NAME - len(begun) - 1
        free = "".join(char for char in letters if char not in ahead)
        options = [] if not begun or begun in self._taken else ['""']
        options += [f"{among(free)} {times(among(self._others), 0, room)}".strip()] if free and room >= 0 else []
        options += [f"{text(char)} {self.rule(begun + char, self._others)}" for char in ahead]
        return self._rules.name("name", " | ".join(options))


def among(chars: str) -> str:
    """One of these characters."""
    return f"[{_listed(chars)}]"


def but(chars: str) -> str:
    """Any character but these."""
    return f"[^{_listed(chars)}]" if chars else _ANY


def _listed(chars: str) -> str:
    """Characters as in a class; those that follow one another as ranges."""
    points = sorted({ord(char) for char in chars})
    starts = [point for point in points if point - 1 not in points]
    ends = [point for point in points if point + 1 not in points]
    return "".join(
        _escaped(one) + (f"-{_escaped(end)}" if end > one else "") for one, end in zip(starts, ends, strict=True)
    )


def _escaped(point: int) -> str:
    return chr(point) if chr(point) in LETTERS + string.digits else f"\\U{point:08x}"


def _utf8(value: str) -> bool:
    """Whether a text can be written at all: half of a surrogate pair cannot."""
    return not any("\ud800" <= char <= "\udfff" for char in value)
