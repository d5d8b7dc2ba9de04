"""The patterns of JSON Schema: ECMA-262 regular expressions, and what people write for them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

from toolglot.errors import GrammarError
from toolglot.schemas import anchors, characters
from toolglot.schemas.anchors import Anchored
from toolglot.schemas.charset import Charset, single
from toolglot.schemas.expressions import EMPTY, Expression, TooLargeError, chars, choice

_MAX_LENGTH = 10_000
_MAX_DEPTH = 100
_MAX_TIMES = 1_000_000
_QUANTIFIER = re.compile(r"(?:([*+?])|\{([0-9]+)(?:(,)([0-9]*))?\})([?+]?)")
_LOOKS_LIKE_QUANTIFIER = re.compile(r"\{,[0-9]+\}")
_GROUP = re.compile(r"\((?:\?:|\?P?<[A-Za-z_][A-Za-z0-9_]*>)?(?!\?)")
_LATE_LOOKAHEAD = "a lookahead that does not follow ^ at the start"
_SPECIAL_GROUPS = (
    ("(?=", _LATE_LOOKAHEAD), ("(?!", _LATE_LOOKAHEAD), ("(?<=", "a lookbehind"), ("(?<!", "a lookbehind"),
    ("(?P=", "a backreference"), ("(?>", "an atomic group"), ("(?#", "a comment"), ("(?(", "a condition"),
)  # fmt: skip
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v", "0": "\0", "a": "\a"}
_CODE = re.compile(
    r"u\{([0-9a-fA-F]{1,8})\}|x\{([0-9a-fA-F]{1,8})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|U([0-9a-fA-F]{8})"
)
_PAIR = re.compile(r"u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_PROPERTY = re.compile(r"[pP](?:\{(?:(?:gc|General_Category)=)?([A-Za-z_]+)\}|([A-Z]))")
_CONTROL = re.compile(r"c([A-Za-z])")
_ANCHORS = {"^": anchors.BEGIN, r"\A": anchors.BEGIN, "$": anchors.END, r"\z": anchors.END, r"\Z": anchors.END}


class PatternError(GrammarError):
    """A pattern that is none, or that no automaton can follow; the message is the reason."""


@dataclass(frozen=True)
class Lookahead:
    """A condition for the whole text: that it is one of those of the tree, or that it is none of them."""

    node: Expression
    positive: bool


@dataclass(frozen=True)
class Alternative:
    """The texts of the tree for which all conditions hold."""

    node: Expression
    conditions: tuple[Lookahead, ...] = ()


def parsed(source: str, *, wide: bool = False) -> tuple[Alternative, ...]:
    """The texts in which a pattern is found: those in which every validator finds it, or, if ``wide``, any of them.

    Raises:
        PatternError: it is no pattern, or one that cannot be followed.
        TooLargeError: it is too long, or nests or repeats too much.
    """
    if len(source) > _MAX_LENGTH:
        raise TooLargeError(f"a pattern has over {_MAX_LENGTH} characters")
    return _Parser(source, wide=wide).whole()


class _Parser:
    def __init__(self, source: str, *, wide: bool) -> None:
        self._source = source
        self._at = 0
        self._wide = wide
        self._depth = 0

    def whole(self) -> tuple[Alternative, ...]:
        found = [self._alternative()]
        while self._took("|"):
            found.append(self._alternative())
        if self._at < len(self._source):
            self._refuse("a ) without its (")
        plain = choice(one.node for one in found if not one.conditions)
        return (Alternative(plain), *(one for one in found if one.conditions))

    def _alternative(self) -> Alternative:
        """One of the alternatives of the whole pattern, which may begin with lookaheads behind ``^``."""
        start, conditions = self._at, []
        if self._took("^") or self._took(r"\A"):
            while self._source.startswith(("(?=", "(?!"), self._at):
                conditions.append(self._lookahead())
        if not conditions:
            self._at = start
        rest = self._series()
        begun = anchors.series([{anchors.BEGIN: EMPTY}, rest]) if conditions else rest
        return Alternative(anchors.anywhere(begun, wide=self._wide), tuple(conditions))

    def _lookahead(self) -> Lookahead:
        positive = self._source[self._at + 2] == "="
        self._at += 3
        wide = self._wide
        self._wide = wide if positive else not wide
        ahead = anchors.anywhere(self._group(), wide=self._wide, inside=False)
        self._wide = wide
        return Lookahead(ahead, positive)

    def _group(self) -> Anchored:
        """Alternatives up to the ``)`` that closes them."""
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise TooLargeError(f"a pattern nests groups more than {_MAX_DEPTH} deep")
        options = [self._series()]
        while self._took("|"):
            options.append(self._series())
        if not self._took(")"):
            self._refuse("a ( without its )")
        self._depth -= 1
        return anchors.either(options)

    def _series(self) -> Anchored:
        parts: list[Anchored] = []
        while self._at < len(self._source) and self._source[self._at] not in "|)":
            parts.append(self._term())
        return anchors.series(parts)

    def _term(self) -> Anchored:
        for spelling, need in _ANCHORS.items():
            if self._took(spelling):
                return {need: EMPTY}
        part = self._atom()
        quantifier = _QUANTIFIER.match(self._source, self._at)
        if quantifier is None:
            return part
        least, most = self._times(quantifier)
        self._at = quantifier.end()
        if _QUANTIFIER.match(self._source, self._at):
            self._refuse("two quantifiers in a row")
        return anchors.times(part, least, most)

    def _times(self, found: re.Match[str]) -> tuple[int, int | None]:
        sign, least, comma, most, mode = found.groups()
        if mode == "+":
            self._refuse("a possessive quantifier")
        if sign:
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
        if max(len(least), len(most or "")) > len(str(_MAX_TIMES)) or int(most or least) > _MAX_TIMES:
            raise TooLargeError(f"a pattern repeats something over {_MAX_TIMES} times")
        if most and int(most) < int(least):
            self._refuse("a quantifier whose numbers are the wrong way round")
        return int(least), int(most) if most else None if comma else int(least)

    def _atom(self) -> Anchored:
        one = self._source[self._at]
        if one == "(":
            return self._opened()
        if _QUANTIFIER.match(self._source, self._at):
            self._refuse("a quantifier with nothing before it")
        if _LOOKS_LIKE_QUANTIFIER.match(self._source, self._at):
            self._refuse("a quantifier without its first number, which only some validators take for one")
        self._at += 1
        if one == "[":
            return anchors.free(chars(self._class()))
        if one == ".":
            return anchors.free(chars(characters.dot(wide=self._wide)))
        return anchors.free(chars(self._escaped(self._wide) if one == "\\" else single(self._character(one))))

    def _opened(self) -> Anchored:
        found = _GROUP.match(self._source, self._at)
        if found is None:
            names = (name for opener, name in _SPECIAL_GROUPS if self._source.startswith(opener, self._at))
            self._refuse(next(names, "flags, or another kind of group"))
        self._at = found.end()
        return self._group()

    def _class(self) -> Charset:
        """What is between ``[`` and ``]``. What an inverted class leaves out must be wide for it to be narrow."""
        inverted = self._took("^")
        wide = self._wide ^ inverted
        if self._took("]"):
            self._refuse("a ] first in a class, which not all validators read alike")
        found = Charset()
        while not self._took("]"):
            found |= self._range(wide)
        return ~found if inverted else found

    def _range(self, wide: bool) -> Charset:
        first = self._member(wide)
        if len(first) != 1 or not self._source.startswith("-", self._at) or self._source.startswith("-]", self._at):
            return first
        self._at += 1
        last = self._member(wide)
        if len(last) != 1 or last.ranges < first.ranges:
            self._refuse("a range of characters with its ends the wrong way round")
        return Charset.spanning([(first.ranges[0][0], last.ranges[0][0])])

    def _member(self, wide: bool) -> Charset:
        if self._at >= len(self._source):
            self._refuse("a [ without its ]")
        if self._source.startswith(("[:", "[=", "[."), self._at):
            self._refuse("a [: in a class, which not all validators read alike")
        self._at += 1
        one = self._source[self._at - 1]
        if one == "\\" and self._took("b"):
            return Charset.of("\b")
        return self._escaped(wide) if one == "\\" else single(self._character(one))

    def _escaped(self, wide: bool) -> Charset:
        """The characters of the escape behind a backslash."""
        if self._at >= len(self._source):
            self._refuse("a backslash with nothing behind it")
        one = self._source[self._at]
        if one in "dDwWsS":
            self._at += 1
            return characters.shorthand(one, wide=wide)
        if one in "pP":
            return self._category(wide)
        if one in "123456789k":
            self._refuse("a backreference")
        if one in "bB":
            self._refuse("a word boundary")
        return single(self._code(one))

    def _code(self, one: str) -> str:
        if pair := _PAIR.match(self._source, self._at):
            self._at = pair.end()
            return (bytes.fromhex(pair[1]) + bytes.fromhex(pair[2])).decode("utf-16-be")
        if found := _CODE.match(self._source, self._at):
            self._at = found.end()
            point = int(found[found.lastindex or 0], 16)
            return self._character(chr(point) if point < 0x110000 else "\ud800")
        if control := _CONTROL.match(self._source, self._at):
            self._at = control.end()
            return chr(ord(control[1]) % 32)
        self._at += 1
        if one not in _ESCAPES and one.isalnum():
            self._refuse(f"\\{one}, which means nothing")
        if one == "0" and self._source[self._at : self._at + 1].isdecimal():
            self._refuse("an octal escape, which not all validators read alike")
        return self._character(_ESCAPES.get(one, one))

    def _category(self, wide: bool) -> Charset:
        inverted = self._source[self._at] == "P"
        found = _PROPERTY.match(self._source, self._at)
        among = characters.category(found[1] or found[2], wide=wide ^ inverted) if found else None
        if found is None or among is None:
            self._refuse("a property of characters other than their general category")
        self._at = found.end()
        return ~among if inverted else among

    def _character(self, one: str) -> str:
        if "\ud800" <= one <= "\udfff":
            self._refuse("half of a surrogate pair, or a number that is no character's")
        return one

    def _took(self, spelling: str) -> bool:
        taken = self._source.startswith(spelling, self._at)
        self._at += len(spelling) if taken else 0
        return taken

    def _refuse(self, what: str) -> NoReturn:
        raise PatternError(f"the pattern has, at its character {self._at + 1}, {what}")
