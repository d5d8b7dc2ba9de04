"""One schema object while its keywords are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from toolglot.schemas.algebra import Algebra
from toolglot.schemas.audit import Place
from toolglot.schemas.normal import Node
from toolglot.schemas.references import Site
from toolglot.schemas.spelling import Keywords
from toolglot.schemas.unsettled import NOTHING

if TYPE_CHECKING:
    from toolglot.schemas.walk import Walk


class Part:
    """The keywords of one schema object, at its place in the client's schema."""

    def __init__(self, walk: Walk, keywords: Keywords, place: Place) -> None:
        self.walk = walk
        self.values = keywords.values
        self.place = place
        self._keywords = keywords
        self._loose = False

    def get(self, keyword: str, default: Any = None) -> Any:
        """What a keyword holds."""
        return self.values.get(keyword, default)

    def origin(self, keyword: str) -> str:
        """What the client calls a keyword."""
        return self._keywords.origin(keyword)

    def at(self, keyword: str, *steps: str | int) -> Place:
        """The place of what a keyword holds."""
        return self.place.at(self.origin(keyword), *steps)

    def algebra(self, keyword: str) -> Algebra:
        """The algebra, for what a keyword says."""
        self.walk.algebra.site = Site(self.place, self.origin(keyword))
        return self.walk.algebra

    def refined(self, node: Node, said: Node, keyword: str) -> Node:
        """The values of ``node`` for which holds what the keyword says, as :meth:`judged`."""
        return self.judged(node, self.algebra(keyword).intersect(node, said), keyword)

    def contrary(self, build: Callable[[Any, Place], Node], schema: Any, place: Place) -> Node:
        """The node of a schema within whose contrary is used: what is left of it afterwards may then be too little."""
        loosened = self.walk.audit.loosened
        node = build(schema, place.negated)
        self._loose |= self.walk.audit.loosened > loosened
        return node

    def judged(self, before: Node, after: Node, keyword: str) -> Node:
        """``after``, its losses noted; ``before`` where values are lost that may not be, or all of them."""
        losses = self.walk.algebra.lost()
        if self._loose:
            losses.shrink("not all of it can be told")
            self._loose = False
        if losses.smaller and (after == NOTHING or not self.place.positive):
            self.larger(keyword, losses.smaller)
            return before
        if losses.smaller:
            self.smaller(keyword, losses.smaller)
        if losses.larger:
            self.larger(keyword, losses.larger)
        return after

    def smaller(self, keyword: str, reason: str) -> None:
        """Note that fewer values are admitted than the keyword says."""
        self.walk.audit.smaller(self.place, self.origin(keyword), reason)

    def larger(self, keyword: str, reason: str) -> None:
        """Note that more values are admitted than the keyword says."""
        self.walk.audit.larger(self.place, self.origin(keyword), reason)

    def blame(self, names: list[str]) -> None:
        """Note that the schema admits no object as these required members admit no value."""
        if names:
            declared = names[0] in self.get("properties", ())
            culprit = self.at("properties", names[0]) if declared else self.at("required")
            self.walk.culprits.setdefault(self.place.path, culprit.path)
