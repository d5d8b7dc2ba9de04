"""A call as a header and its arguments: ``functions.get_weather:0<|tool_call_argument_begin|>{"city": "Oslo"}``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Protocol, Self

from msgspec.structs import replace

from toolglot.formats.body import NO_ID, NUMBER, OWN_ID, Body, Freedom
from toolglot.formats.json_text import Json
from toolglot.formats.templates import fill, parts_of

if TYPE_CHECKING:
    from toolglot.events import Call
    from toolglot.formats.body import Pieces
    from toolglot.formats.cursor import Reading
    from toolglot.formats.machine import Machine
    from toolglot.formats.signature import Signature
    from toolglot.requests import Tool
    from toolglot.structural_tag import Format

_TYPE = "json"
_SLOTS: dict[str, Format] = {"index": NUMBER, "id": OWN_ID}
"""What the grammar admits where the header holds more than the name."""


class Arguments(Protocol):
    """How arguments are written behind a header."""

    @property
    def first(self) -> str:
        """The characters with which they can begin."""

    def encoded(self, encode: Callable[[str], str]) -> Self: ...

    @property
    def verbatim(self) -> bool:
        """They are JSON, and are passed on as they are written."""

    @property
    def markers(self) -> Iterable[str]: ...

    def read(self, machine: Machine) -> Reading[None]:
        """Read them, announce the call, and pass them on."""

    def render(self, call: Call, index: int, tool: Tool | None, vary: Freedom | None) -> str: ...

    def grammar(self, signature: Signature) -> Pieces: ...


class HeadedCall(Body, frozen=True):
    """The header's spellings (the first is canonical), and how the arguments are written.

    Besides ``{name}`` a header may hold ``{index}``, ``{id}``, and ``{type}`` (what the arguments are: ``json``). The
    arguments may be a whole :class:`JsonCall`, which says the name once more.
    """

    head: tuple[str, ...]
    arguments: Arguments = Json()

    @property
    def heads(self) -> tuple[str, ...]:
        return self.head

    @property
    def markers(self) -> Iterable[str]:
        return (*self.head, *self.arguments.markers)

    @property
    def verbatim(self) -> bool:
        return self.arguments.verbatim

    def exactly(self) -> Self:
        return replace(self, head=self.head[:1])

    def encoded(self, encode: Callable[[str], str]) -> Self:
        return replace(self, head=tuple(map(encode, self.head)), arguments=self.arguments.encoded(encode))

    def read(self, machine: Machine) -> Reading[None]:
        slots = yield from machine.header(_longest_first(self.head), self.arguments.first)
        machine.named(slots["name"])
        if "id" in slots:
            machine.identified(slots["id"])
        if slots.get("type", _TYPE) != _TYPE:
            machine.rest(slots["type"])
        yield from self.arguments.read(machine)

    def render(self, call: Call, index: int, tool: Tool | None, vary: Freedom | None) -> str:
        head = vary.choice(self.head) if vary else self.head[0]
        slots = {"name": call.name, "index": str(index), "id": call.id or NO_ID, "type": _TYPE}
        return fill(parts_of(head), slots) + self.arguments.render(call, index, tool, vary)

    def grammar(self, signature: Signature) -> Pieces:
        head = [
            _SLOTS.get(value, signature.name) if kind == "word" else value for kind, value in parts_of(self.head[0])
        ]
        return (*head, *self.arguments.grammar(signature))


@cache
def _longest_first(heads: tuple[str, ...]) -> tuple[str, ...]:
    """The heads such that one which is the beginning of another comes behind it."""
    fixed = {head: sum(len(value) for kind, value in parts_of(head) if kind == "text") for head in heads}
    return tuple(sorted(heads, key=fixed.__getitem__, reverse=True))
