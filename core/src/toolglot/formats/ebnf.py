"""Writing EBNF for XGrammar: texts, and rules that are written once."""

from __future__ import annotations

import re
from collections.abc import Iterable

from toolglot.errors import GrammarError
from toolglot.schemas import deadline

MAX_RULES = 40_000
"""Of how many rules a grammar may be made."""

_UNSAFE = re.compile(r'["\\\x00-\x1f\x7f]')


def text(value: str) -> str:
    """Just this text."""
    return '"' + _UNSAFE.sub(_escape, value) + '"'


def _escape(found: re.Match[str]) -> str:
    char = found[0]  # `\x` would take the hexadecimal digits that follow
    return f"\\{char}" if char in '"\\\\' else f"\\u{ord(char):04x}"


def one_of(options: Iterable[str]) -> str:
    """One of several expressions, in brackets."""
    found = list(dict.fromkeys(options))
    return found[0] if len(found) == 1 else f"({' | '.join(found)})"


def times(rule: str, least: int, most: int | None) -> str:
    """A rule ``least`` to ``most`` times (None: without a limit); empty where that is never."""
    if most == 0:
        return ""
    if (least, most) == (1, 1):
        return rule
    if least in (0, 1) and most is None:
        return rule + "*+"[least]
    if (least, most) == (0, 1):
        return f"{rule}?"
    return f"{rule}{{{least},{'' if most is None else most}}}"


class Rules:
    """The rules of one grammar. Two that say the same are one; their names tell the order in which they were made."""

    def __init__(self) -> None:
        self._bodies: dict[str, str] = {}
        self._names: dict[str, str] = {}

    def name(self, hint: str, body: str) -> str:
        """The name of the rule with this body.

        Raises:
            GrammarError: there are too many rules.
        """
        found = self._names.get(body)
        if found is None:
            found = self._names[body] = self.reserve(hint)
            self._bodies[found] = body
        return found

    def reserve(self, hint: str) -> str:
        """A name for a rule that is defined later, so that it may refer to itself."""
        deadline.check()
        if len(self._bodies) >= MAX_RULES:
            raise GrammarError("a tool's schema has too many parts to be made a grammar", param="tools")
        name = f"{hint}_{len(self._bodies)}"
        self._bodies[name] = ""
        return name

    def define(self, name: str, body: str) -> None:
        """Say what a reserved name stands for."""
        self._bodies[name] = body

    def grammar(self, root: str) -> str:
        """All rules, beginning with the one for the whole.

        Raises:
            ValueError: a rule was reserved and never defined, or with nothing.
        """
        if unwritten := [name for name, body in self._bodies.items() if not body]:
            raise ValueError(f"rules without a body: {', '.join(unwritten)}")
        return "\n".join([f"root ::= {root}", *(f"{name} ::= {body}" for name, body in self._bodies.items())])
