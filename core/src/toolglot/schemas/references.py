"""Nodes that are known by name, and operations on them that end although they are recursive."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct

from toolglot.errors import GrammarError
from toolglot.schemas.audit import Place
from toolglot.schemas.effort import Effort
from toolglot.schemas.losses import Losses
from toolglot.schemas.normal import Node, Reference
from toolglot.schemas.unsettled import NOTHING


class Site(Struct, frozen=True):
    """The keyword of the client's schema that an operation is for."""

    place: Place
    keyword: str


class Waiting(Struct, frozen=True, eq=False):
    """A definition that can be made when its parts are known."""

    name: str
    parts: tuple[Node, ...]
    make: Callable[..., Node]
    site: Site


class Result(Struct, eq=False):
    """What an operation gave. Its parts are kept, as it is known by their ids."""

    node: Node
    parts: tuple[Node, ...]
    losses: Losses


class References:
    """The definitions of one schema. What the last results lack, or have too much, is in :attr:`losses`."""

    def __init__(self) -> None:
        self.definitions: dict[str, Node | None] = {}
        """The nodes of references; None for one that is being made."""
        self.effort = Effort()
        self.losses = Losses(self.effort)
        self.site = Site(Place(""), "")
        """What the operations are for."""
        self._waiting: list[Waiting] = []
        self._results: dict[tuple[object, ...], Result] = {}

    def lost(self) -> Losses:
        """The losses since the last call."""
        losses, self.losses = self.losses, Losses(self.effort)
        return losses

    def resolved(self, node: Node) -> Node | None:
        """The node that a reference leads to; None while it is not known.

        Raises:
            GrammarError: it leads back to itself.
        """
        seen = set()
        found: Node | None = node
        while isinstance(found, Reference):
            if found.name in seen:
                raise GrammarError("references of the schema lead back to themselves")
            seen.add(found.name)
            found = self.definitions[found.name]
        return found

    def complete(self) -> Iterator[Site]:
        """Make the definitions that wait; gives the site of each when it is made, its losses in :attr:`losses`."""
        while self._waiting:
            waiting = next((one for one in self._waiting if self._known(one.parts)), None)
            if waiting is None:
                raise GrammarError("references of the schema lead back to themselves")
            self._waiting.remove(waiting)
            self.site = waiting.site
            self.definitions[waiting.name] = waiting.make(*map(self.resolved, waiting.parts))
            yield waiting.site

    def of_references(self, operation: str, make: Callable[..., Node], *parts: Node) -> Node:
        """What an operation gives for parts of which one is a reference. It is made once, so that recursion ends, and
        later where the references are not known yet.
        """
        names = (part.name if isinstance(part, Reference) else id(part) for part in parts)
        key = (operation, self.site.place.positive, *names)
        if key not in self._results:
            self._make(key, make, parts)
        result = self._results[key]
        self.losses.add(result.losses)
        return result.node

    def _make(self, key: tuple[object, ...], make: Callable[..., Node], parts: tuple[Node, ...]) -> None:
        name = f"{key[0]} {len(self._results)}"
        result = self._results[key] = Result(Reference(name), parts, Losses(self.effort))
        self.definitions[name] = None
        if not self._known(parts):
            self._waiting.append(Waiting(name, parts, make, self.site))
            return
        around, self.losses = self.losses, result.losses
        found = self.definitions[name] = make(*map(self.resolved, parts))
        self.losses = around
        if found == NOTHING:
            result.node = found

    def _known(self, parts: tuple[Node, ...]) -> bool:
        return all(self.resolved(part) is not None for part in parts)

    def finished(self) -> Mapping[str, Node]:
        """All definitions; to be called when none waits."""
        return {name: node for name, node in self.definitions.items() if node is not None}
