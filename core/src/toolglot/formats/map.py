"""Arguments as a map with bare keys, and with a marker for a quote: ``{city:<|"|>Oslo<|"|>,days:3}``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random as Rng
from typing import TYPE_CHECKING, Literal, Self

from msgspec import Struct
from msgspec.structs import replace

from toolglot.formats.bare_value import Subschema
from toolglot.formats.json_tokens import members, require_same
from toolglot.formats.map_grammar import map_members
from toolglot.formats.map_reader import MapReader
from toolglot.formats.map_text import MapWriter
from toolglot.formats.markers import scan_of
from toolglot.formats.python_literal import WholeText
from toolglot.formats.structure import guarded
from toolglot.formats.synthesis import Collected, Synthesis

if TYPE_CHECKING:
    from toolglot.events import Call
    from toolglot.formats.body import Pieces
    from toolglot.formats.cursor import Reading
    from toolglot.formats.machine import Machine
    from toolglot.formats.signature import Signature
    from toolglot.requests import Tool

_NO_MARKERS = scan_of(())


class Map(Struct, frozen=True):
    """``quote`` stands on both sides of every string, or of every argument (``all``, whose types the schema knows).

    Nothing is escaped between quotes: a quote behind which the map cannot go on is part of the text. One that spells a
    quotation mark, as ``<|"|>`` does, is a quotation mark there.
    """

    quote: str
    quoted: Literal["strings", "all"] = "strings"

    @property
    def first(self) -> str:
        return "{(<"  # the last where the call ends without arguments

    @property
    def verbatim(self) -> bool:
        return False

    @property
    def markers(self) -> Iterable[str]:
        return (self.quote,)

    def encoded(self, encode: Callable[[str], str]) -> Self:
        return replace(self, quote=encode(self.quote))

    def read(self, machine: Machine) -> Reading[None]:
        yield from machine.skip()
        if (yield from machine.at_ender()):
            machine.supply("missing_arguments")
            return
        sink = Synthesis(machine)
        enders, exact = machine.layout.enders, machine.layout.exact
        reader = MapReader(machine, sink, self, enders, lenient=machine.may_repair, exact=exact)
        yield from guarded(machine, sink, reader.whole(Subschema.of_tool(machine.tool)))
        machine.complete()

    def render(self, call: Call, index: int, tool: Tool | None, vary: Rng | None) -> str:  # noqa: ARG002  # for others
        schema = Subschema.of_tool(tool)
        arguments = list(members(call).items())
        if vary:
            vary.shuffle(arguments)
        writer = MapWriter(self, vary)
        for key, value in arguments:
            writer.argument(key, value, schema and schema.property(key))
        written = writer.text
        require_same(call, self._read_back(written, schema))
        return written

    def grammar(self, signature: Signature) -> Pieces:
        return "{", map_members(signature, self), "}"

    def _read_back(self, written: str, schema: Subschema | None) -> str | None:
        cursor, sink = WholeText(written), Collected()
        reader = MapReader(cursor, sink, self, _NO_MARKERS, lenient=True)
        return sink.text if cursor.exhaust(reader.whole(schema)) else None
