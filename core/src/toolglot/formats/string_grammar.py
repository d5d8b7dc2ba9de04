"""What a grammar admits as JSON strings: texts, languages, lengths, names of members; and what none of them spells.

XGrammar is fast where a rule goes on to itself at its very end, and where a class of characters is counted right before
a quote or a backslash; where a rule for one character is repeated it takes a second for each token, and one limit of a
rule (``max_chars``) makes the grammar of the whole output slow. So a length is counted in runs of characters, each up
to an escape or to the end. A run with its escape takes whole eighths of the length, of long texts sixteenths: a text
with many escapes may have to end before it is that long, one with none of them, or of up to eight characters, never.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache

from toolglot.errors import GrammarError
from toolglot.formats.ebnf import Rules, text
from toolglot.schemas.charset import Charset
from toolglot.schemas.language import (
    Language,
    Letters,
    TooLargeError,
    anything,
    apart,
    json_key_letters,
    json_letters,
    literals,
    rules,
)
from toolglot.schemas.normal import String

_RUNS = 8
_MANY_RUNS = 16
_SHORT_TEXT = 256
_SHORT_RUN = 128
_CHAINED = 4
"""Up to how many characters that a string must have are written one by one."""

_QUOTE = r'"\""'
_NEVER_PLAIN = r"\"\\\x00-\x1f\ud800-\udfff"
"""Characters, as in a class, that stand in no string as they are. XGrammar would take half a surrogate pair."""
_NAME = "\0"
"""Stands for the name of a rule. It occurs nowhere else, since a grammar has no raw control characters."""
_HEX = "[0-9a-fA-F]"
_ESCAPE = rf'["\\/bfnrt] | "u" ([0-9a-cefA-CEF] {_HEX} {_HEX} {_HEX} | [dD] [0-7] {_HEX} {_HEX})'
"""What follows a backslash: any escape but half of a surrogate pair."""
_OUTSIDE = re.compile(r"[\s\[\]{},:0-9.eE+\-truefalsn]*")
"""Text that stands outside of strings."""


class Strings:
    """Writes the strings of one grammar. None of ``excludes`` is in one as it is written; an escape can spell it.

    Raises:
        GrammarError: one of ``excludes`` cannot be kept out of JSON.
    """

    def __init__(self, rules: Rules, excludes: Iterable[str] = ()) -> None:
        self._rules = rules
        self._excludes = _inside_strings(excludes)
        self._openers = "".join(dict.fromkeys(one[0] for one in self._excludes))
        self._plain = _but(self._openers)
        self._known: dict[str, str] = {}

    def value(self, node: String) -> str | None:
        """A string in quotes; None where there is none."""
        if node.language is not None:
            return self._spelled("text", node.language, json_letters)
        if node.most is not None and node.least > node.most:
            return None
        return f"{_QUOTE} {self._rest(node.least, node.most)}"

    def key(self, names: Language | None, declared: Sequence[str]) -> str | None:
        """A name in quotes that is in ``names`` (None: any name) and none of ``declared``; None where there is none.

        It is spelled in one way only, so that none comes twice in two spellings. Where it takes many states to tell it
        from those declared, names that begin as they do are left out too.
        """
        return self._spelled("name", _undeclared(names or anything, declared), json_key_letters)

    def spelled(self, written: str) -> str:
        """JSON text, with escapes for what is excluded."""
        for one in self._excludes:
            written = written.replace(one, _code(one[0]) + one[1:])
        return written

    def _spelled(self, hint: str, language: Language, letters: Letters) -> str | None:
        """A language in quotes. What excluded text begins with is written as an escape."""
        lines = _rules(language, letters, self._openers)
        if lines is None:
            return None
        rule = self._rules.reserve(hint)
        for name, body in lines:
            self._rules.define(name.replace(_NAME, rule), body.replace(_NAME, rule))
        return f"{_QUOTE} {rule}"

    def _rest(self, least: int, most: int | None) -> str:
        """A rule for so many characters and the quote behind them."""
        if most is not None:
            return self._run_rule(least, most, max(1, -(-most // (_RUNS if most <= _SHORT_TEXT else _MANY_RUNS))))
        if least > _CHAINED:
            return self._run_rule(least, None, -(-least // _RUNS))
        return self._rule(f"{least}", lambda: self._by_character(least))

    def _rule(self, key: str, options: Callable[[], Iterator[str]]) -> str:
        """The rule of a key, written when it is first asked for."""
        if key not in self._known:
            self._known[key] = self._rules.reserve("string")
            self._rules.define(self._known[key], " | ".join(options()))
        return self._known[key]

    def _by_character(self, least: int) -> Iterator[str]:
        if least > 1:
            behind = self._rest(least - 1, None)
            yield from (f"{self._plain} {behind}", f"{self._escape} {behind}")
            return
        yield from () if least else (_QUOTE,)
        yield from self._free(self._rest(0, None))

    def _free(self, rest: str) -> Iterator[str]:
        """One character and then ``rest``; or some with which excluded text begins, and then ``rest`` or the quote."""
        yield from (f"{self._plain} {rest}", f"{self._escape} {rest}")
        begun = sorted({one[:size] for one in self._excludes for size in range(1, len(one))})
        for part in begun:
            ahead = {one[len(part)] for one in self._excludes if one.startswith(part) and one != part}
            some = f"{self._again(begun)} {text(part)}"
            yield from (f"{some} {_QUOTE}", f"{some} {self._escape} {rest}")
            yield f"{some} {_but(self._openers + ''.join(sorted(ahead)))} {rest}"

    def _again(self, begun: Sequence[str]) -> str:
        """Beginnings of excluded text of which none goes on."""
        return self._rule("again", lambda: iter(('""', *(f"{text(one)} {self._known['again']}" for one in begun))))

    def _run_rule(self, least: int, most: int | None, step: int) -> str:
        return self._rule(f"{least} {most} {step}", lambda: self._runs(least, most, step))

    def _runs(self, least: int, most: int | None, step: int) -> Iterator[str]:
        """Runs of plain characters between escapes. A run with its escape takes whole steps of the room that there is,
        and of ``least`` only what it has for certain. In long texts some short ones take one together.
        """
        yield f"{self._run(least, most)} {_QUOTE}".strip()
        if most is None:
            yield f"{self._run(least, None)} {self._escape} {self._rest(0, None)}"
        before = ""
        if most is not None and step > _SHORT_TEXT // _RUNS and most > step:
            before, most = self._short_runs(step), most - step
            yield f"{before} {self._run(least, most)} {_QUOTE}"
        for fewest in range(0, least if most is None else most, step):
            behind = self._behind(max(0, least - fewest - 1), most and most - fewest, step)
            last = fewest + step - 1 if most is None else min(fewest + step, most) - 1
            if behind:
                yield " ".join(filter(None, (before, self._run(fewest, last), self._escape, behind)))

    def _behind(self, missing: int, room: int | None, step: int) -> str | None:
        """The rule for what follows a run that begins where there is so much room; None where it cannot be enough."""
        if room is not None:
            room = max(0, room - step)
            return self._run_rule(missing, room, step) if missing <= room else None
        return self._run_rule(-(-missing // step) * step, None, step) if missing else self._rest(0, None)

    def _short_runs(self, room: int) -> str:
        size = min(_SHORT_RUN, room // 4)
        one = self._rules.name("short", f"{self._run(0, size - 1)} {self._escape}")
        return f"{one}{{0,{room // size}}}"

    def _run(self, least: int, most: int | None) -> str:
        return "" if most == 0 else f"{self._plain}{{{least},{'' if most is None else most}}}"

    @property
    def _escape(self) -> str:
        return rf'"\\" {self._rules.name("escape", _ESCAPE)}'


def _undeclared(names: Language, declared: Sequence[str]) -> Language:
    """The names but those that are declared, and, where that is too much, those that begin as one of them, or all."""
    for others in (apart(declared), apart(declared, 1)) if declared else (anything,):
        with suppress(TooLargeError):
            return names.intersect(others)
    return literals(())


@lru_cache(256)
def _rules(language: Language, letters: Letters, openers: str) -> list[tuple[str, str]] | None:
    """Names and bodies of the rules of a language and the quote behind it."""
    lines = rules(language, _NAME, _spelling(letters, openers), _QUOTE)
    if lines is None:
        return None
    return [(name, body) for name, _, body in (line.partition(" ::= ") for line in lines)]


@lru_cache(256)
def _spelling(letters: Letters, openers: str) -> Letters:
    """Letters that write these characters as escapes. They remember how they wrote a set."""
    escaped = Charset.of(openers)

    @lru_cache(1024)
    def spelled(characters: Charset) -> Sequence[str]:
        codes = [text(_code(one)) for one in openers if one in characters and one <= "\uffff"]
        plain = characters - escaped if openers else characters
        return [*letters(plain), *codes] if plain else codes

    return spelled


def _but(characters: str) -> str:
    """Any character that may stand in a string as it is, but these."""
    return "[^" + _NEVER_PLAIN + "".join(f"\\U{ord(one):08x}" for one in characters) + "]"


def _code(character: str) -> str:
    return f"\\u{ord(character):04x}"


def _inside_strings(excludes: Iterable[str]) -> tuple[str, ...]:
    """What is to be kept out of strings so that none of the texts occurs in JSON: where a text goes on with a character
    with which one begins, what is before it.
    """
    found = [one for one in excludes if _may_occur(one)]
    openers = {one[0] for one in found}
    cut = [one[: next((at for at, char in enumerate(one) if at and char in openers), len(one))] for one in found]
    return tuple(dict.fromkeys(one for one in cut if not any(one != other and one.startswith(other) for other in cut)))


def _may_occur(text_: str) -> bool:
    """Whether a text can occur in JSON at all, which it then does within one string.

    Raises:
        GrammarError: it could stand elsewhere in JSON too.
    """
    pieces = text_.split('"')
    if "\\" in text_ or any(all(map(_OUTSIDE.fullmatch, pieces[first::2])) for first in (0, 1) if pieces[first::2]):
        raise GrammarError(f"{text_!r} cannot be kept out of JSON", param="tools")
    return len(pieces) == 1 and min(text_) >= " "
