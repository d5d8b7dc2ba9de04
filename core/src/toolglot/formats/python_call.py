"""A call as Python writes it: ``get_weather(city="Oslo", days=3)``."""

from __future__ import annotations

import re
from random import Random as Rng
from typing import TYPE_CHECKING

from toolglot.errors import RenderError
from toolglot.formats.bare_value import Subschema
from toolglot.formats.body import Body
from toolglot.formats.json_tokens import members, require_same
from toolglot.formats.markers import reach
from toolglot.formats.python_grammar import keyword_arguments
from toolglot.formats.python_literal import PythonReader, WholeText, is_keyword
from toolglot.formats.python_text import Literals, python_text, varied_string
from toolglot.formats.structure import guarded
from toolglot.formats.synthesis import Collected, Synthesis

if TYPE_CHECKING:
    from toolglot.events import Call
    from toolglot.formats.body import Pieces
    from toolglot.formats.cursor import Reading
    from toolglot.formats.machine import Machine
    from toolglot.formats.signature import Signature
    from toolglot.requests import Tool

MAX_NAME = 256
"""The longest name, in characters; it bounds what is held back."""

_SPACE = ("", "", " ", "\n", " \t")
_NAME = re.compile(r"[\w.:/@$-]*+")


class PythonCall(Body, frozen=True):
    """Keyword arguments only. ``literals`` is what the renderer and the grammar write; both are read."""

    literals: Literals = "python"

    def read(self, machine: Machine) -> Reading[None]:
        name = yield from _name(machine)
        machine.named(name)
        sink = Synthesis(machine)
        reader = PythonReader(machine, sink, lenient=machine.may_repair, exact=machine.layout.exact)
        yield from guarded(machine, sink, reader.call(Subschema.of_tool(machine.tool)))
        machine.complete()

    def render(self, call: Call, index: int, tool: Tool | None, vary: Rng | None) -> str:  # noqa: ARG002  # no ids here
        if not call.name or len(call.name) > MAX_NAME or not _NAME.fullmatch(call.name):
            raise RenderError(f"{call.name!r} cannot be written as the name of a Python function")
        schema = Subschema.of_tool(tool)
        arguments = [self._argument(key, value, schema, vary) for key, value in _ordered(members(call), vary)]
        written = f"({_spaced(arguments, vary)})"
        require_same(call, _read_back(written, schema))
        return call.name + written

    def grammar(self, signature: Signature) -> Pieces:
        return f"{signature.name}(", keyword_arguments(signature, self.literals), ")"

    def _argument(self, key: str, value: str, schema: Subschema | None, vary: Rng | None) -> str:
        if not is_keyword(key):
            raise RenderError(f"{key!r} cannot be written as a keyword of a Python call")
        typed = schema and schema.property(key)
        if vary and typed and typed.no_string and vary.random() < 0.2:  # as Llama 4's template writes it
            return f"{key}={varied_string(value, vary)}"
        return f"{key}={python_text(value, self.literals, vary)}"


def _name(machine: Machine) -> Reading[str]:
    """Read a name before a parenthesis. Where it could be ordinary text, it fails where no offered name goes on so."""
    offered = [tool.name for tool in machine.request.tools] if machine.bare else None
    while True:
        end = reach(_NAME, machine.text, machine.at, machine.at + MAX_NAME + 1)
        name = machine.text[machine.at : end]
        if offered is not None and not any(other.startswith(name) for other in offered):
            raise machine.wrong()
        if end < len(machine.text) or len(name) > MAX_NAME:
            break
        yield from machine.more()
    if not 0 < len(name) <= MAX_NAME or machine.text[end] != "(":
        raise machine.wrong()
    return machine.take(end)


def _ordered(arguments: dict[str, str], vary: Rng | None) -> list[tuple[str, str]]:
    items = list(arguments.items())
    if vary:
        vary.shuffle(items)
    return items


def _spaced(arguments: list[str], vary: Rng | None) -> str:
    if vary is None:
        return ", ".join(arguments)
    spaces = [vary.choice(_SPACE) for _ in range(3)]
    trailing = "," if arguments and vary.random() < 0.2 else ""
    return spaces[0] + (spaces[1] + "," + spaces[2]).join(arguments) + trailing + spaces[2]


def _read_back(written: str, schema: Subschema | None) -> str | None:
    cursor, sink = WholeText(written), Collected()
    return sink.text if cursor.exhaust(PythonReader(cursor, sink, lenient=True).call(schema)) else None
