"""A call as Python writes it: ``get_weather(city="Oslo", days=3)``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from toolglot.formats.bare_value import Subschema
from toolglot.formats.body import Body
from toolglot.formats.markers import reach
from toolglot.formats.python_literal import PythonReader
from toolglot.formats.structure import guarded
from toolglot.formats.synthesis import Synthesis

if TYPE_CHECKING:
    from toolglot.formats.cursor import Reading
    from toolglot.formats.machine import Machine

MAX_NAME = 256
_NAME = re.compile(r"[^\s()\[\]{}<>=,'\"\x00-\x1f\ud800-\udfff]*+")


class PythonCall(Body, frozen=True):
    """Keyword arguments only. ``literals`` is what the renderer and the grammar write; both are read."""

    literals: Literal["python", "json"] = "python"

    def read(self, machine: Machine) -> Reading[None]:
        name = yield from _name(machine)
        machine.named(name)
        sink = Synthesis(machine)
        tool = next((tool for tool in machine.request.tools if tool.name == name), None)
        reader = PythonReader(machine, sink, lenient=machine.may_repair)
        yield from guarded(machine, sink, reader.call(Subschema.of_tool(tool)))
        machine.complete()


def _name(machine: Machine) -> Reading[str]:
    """Read a name and its parenthesis. Where it could be ordinary text, it ends where no offered name goes on so."""
    offered = [tool.name for tool in machine.request.tools] if machine.bare else None
    while True:
        end = reach(_NAME, machine.text, machine.at, machine.at + MAX_NAME)
        name = machine.text[machine.at : end]
        if offered is not None and not any(other.startswith(name) for other in offered):
            raise machine.wrong()
        if end < len(machine.text) or len(name) >= MAX_NAME:
            break
        yield from machine.more()
    if not name or not machine.text.startswith("(", end):
        raise machine.wrong()
    machine.take(end + 1)
    return name
