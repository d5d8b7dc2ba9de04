"""``patternProperties``: what is said of members by the patterns that their names match."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from msgspec import Struct

from toolglot.schemas import strings
from toolglot.schemas.language import Language, PatternError, TooLargeError, anything, pattern
from toolglot.schemas.normal import Node, Others
from toolglot.schemas.part import Part
from toolglot.schemas.unsettled import REST, explicit

_MAX_CLAIMS = 32
"""How many sets of names are told apart."""


class MemberPattern(Struct, frozen=True):
    """One pattern. About some names validators do not agree: these are neither ``inside`` nor ``outside``."""

    value: Node
    inside: Language
    outside: Language


class MemberPatterns:
    """The patterns of one schema.

    ``claims`` is what they say, by languages that have no name in common; ``free`` are the names that no pattern
    matches (None: all); ``complete`` tells whether all of the patterns are in it.
    """

    def __init__(self, part: Part) -> None:
        self.claims: list[Others] = []
        self.free: Language | None = None
        self.complete = True
        self._part = part
        self._effort = part.walk.algebra.effort
        self._patterns: list[MemberPattern] = []
        for source, schema in part.get("patternProperties", {}).items():
            value = explicit(part.walk.value(schema, part.at("patternProperties", source)))
            try:
                self._add(self._pattern(source, value))
            except (PatternError, TooLargeError) as error:
                self.complete = False
                part.larger("patternProperties", f"{source}: {error}")

    def refined(self, name: str, node: Node) -> Node:
        """What a declared member may be: ``node``, and what the patterns say that match its name."""
        for one in self._patterns:
            if one.inside.matches(name) or (self._part.place.positive and not one.outside.matches(name)):
                node = self._part.refined(node, one.value, "patternProperties")
        return node

    def _add(self, new: MemberPattern) -> None:
        free = self.free or anything
        claims = [*self._split(new), Others(new.value, self._both(free, new.inside))]
        if not self._part.place.positive:
            doubtful = new.inside.union(new.outside).complement()
            claims.append(Others(REST, self._both(free, doubtful)))
        claims = [one for one in claims if one.names and not one.names.empty]
        if len(claims) > _MAX_CLAIMS:
            raise TooLargeError(f"patterns that overlap in more than {_MAX_CLAIMS} ways")
        self.free = self._both(free, new.outside)
        self.claims = claims
        self._patterns.append(new)

    def _split(self, new: MemberPattern) -> Iterator[Others]:
        """The claims so far, each for names that the new pattern matches, and for those that it does not."""
        part = self._part
        outside = new.outside if part.place.positive else new.inside.complement()
        for claim in self.claims:
            names = claim.names or anything
            both = part.algebra("patternProperties").intersect(claim.value, new.value)
            yield Others(part.judged(claim.value, both, "patternProperties"), self._both(names, new.inside))
            yield Others(claim.value, self._both(names, outside))

    def _both(self, one: Language, other: Language) -> Language:
        return strings.built(partial(one.intersect, other), self._effort)

    def _pattern(self, source: str, value: Node) -> MemberPattern:
        names = pattern(source)
        outside = strings.built(names.complement, self._effort)
        return MemberPattern(value, strings.certain(names), strings.certain(outside))
