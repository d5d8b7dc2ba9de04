"""What became of every keyword of a schema: a line for each, for the client and for the operator."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from toolglot.schemas.normal import Normal
from toolglot.schemas.pointer import escaped

Level: TypeAlias = Literal["exact", "narrowed", "unenforceable"]
_RANK: dict[Level, int] = {"exact": 0, "narrowed": 1, "unenforceable": 2}

SAYS_NOTHING = "says nothing of values"
"""The reason of a keyword that no value depends on."""


class Finding(Struct, frozen=True):
    """What became of one keyword. ``path`` is its JSON pointer in the client's schema.

    exact: the grammar admits what the keyword says. narrowed: all that it admits is valid, but some valid values are
    not admitted. unenforceable: the keyword is not in the grammar, or not all of it.
    """

    path: str
    keyword: str
    level: Level
    reason: str = ""


class Normalised(Struct, frozen=True):
    """A schema in normal form, and what became of its keywords, in the order in which they were met."""

    normal: Normal
    findings: tuple[Finding, ...]

    @property
    def level(self) -> Level:
        """The worst level of a keyword."""
        return max((finding.level for finding in self.findings), key=_RANK.__getitem__, default="exact")

    @property
    def relaxed(self) -> tuple[Finding, ...]:
        """The findings of keywords that the grammar does not enforce."""
        return tuple(finding for finding in self.findings if finding.level == "unenforceable")


class Place(Struct, frozen=True):
    """A place in the client's schema, and how a part there is used."""

    path: str
    positive: bool = True
    """Whether the part may become smaller than it says (narrowed). If not, as within ``not``, it may become larger."""

    def at(self, *steps: str | int) -> Place:
        """The place that many steps further in."""
        return Place(self.path + "".join(f"/{escaped(step)}" for step in steps), self.positive)

    @property
    def negated(self) -> Place:
        """The same place, where the contrary of the part is used."""
        return Place(self.path, not self.positive)


class Audit:
    """The findings so far, the worst of each keyword."""

    def __init__(self) -> None:
        self._findings: dict[str, Finding] = {}
        self.loosened = 0
        """How often a part became larger than it says where that is allowed."""

    def add(self, place: Place, keyword: str, level: Level = "exact", reason: str = "") -> None:
        """Note what became of the keyword of the schema at ``place``."""
        path = place.at(keyword).path
        known = self._findings.get(path)
        if known is None or _RANK[level] > _RANK[known.level]:
            self._findings[path] = Finding(path, keyword, level, reason)

    def smaller(self, place: Place, keyword: str, reason: str) -> None:
        """Note that fewer values are admitted than the keyword says."""
        self.add(place, keyword, "narrowed" if place.positive else "unenforceable", reason)

    def larger(self, place: Place, keyword: str, reason: str) -> None:
        """Note that more values are admitted than the keyword says."""
        self.loosened += not place.positive
        self.add(place, keyword, "unenforceable" if place.positive else "narrowed", reason)

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(self._findings.values())
