"""A call as a header and one element per argument: ``get_weather><parameter=city>Oslo</parameter>``.

Strings stand in it as they are, without escapes. A value therefore ends at the first closer behind which the format can
go on; any other closer is part of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from random import Random as Rng
from typing import TYPE_CHECKING, NamedTuple, Self

from msgspec.structs import replace

from toolglot.errors import GrammarError
from toolglot.formats.bare_value import Subschema
from toolglot.formats.body import Body
from toolglot.formats.cursor import Failed, Stopped
from toolglot.formats.declaration import spellings
from toolglot.formats.element_template import ElementTemplate, element_template, spellings_without
from toolglot.formats.json_text import MAX_WHITESPACE, arguments_schema, require_object
from toolglot.formats.markers import MAX_GAP, NO, PARTIAL, WHITESPACE, Scan, reach
from toolglot.formats.synthesis import escape, quote
from toolglot.formats.templates import Filled, fill, parts_of
from toolglot.formats.values import BySchema, Slots, ValueRule
from toolglot.structural_tag import JsonSchema, Regex

if TYPE_CHECKING:
    from toolglot.events import Call
    from toolglot.formats.body import Pieces
    from toolglot.formats.cursor import Reading
    from toolglot.formats.machine import Machine
    from toolglot.requests import Tool
    from toolglot.structural_tag import Format

_STYLES = {
    "<parameter={key}>{value}</parameter>": "qwen_xml",
    "<parameter name={key:attr}>{value}</parameter>": "minimax_xml",
    "<｜DSML｜parameter name={key:attr} string={text:attr}>{value}</｜DSML｜parameter>": "deepseek_xml",
    "<｜DSML｜ parameter name={key:attr} string={text:attr}>{value}</｜DSML｜ parameter>": "deepseek_v4_1_xml",
    "<arg_key>{key}</arg_key><arg_value>{value}</arg_value>": "glm_xml",
    "<|open|>argument key={key:xml} type={type:attr}<|sep|>{value}<|close|>argument<|sep|>": "kimi_k3_xml",
    "]<]minimax[>[<{key}>{value}]<]minimax[>[</{key}>": "minimax_m3_xml",
}
"""XGrammar's name for the way in which an argument is written, by its template without newlines and ``~``."""

_SLOTS: dict[str, Format] = {"index": Regex("[0-9]{1,3}"), "number": Regex("[1-9][0-9]{0,2}")}
"""What the grammar admits where the header holds more than the name: the call's index, from 0 and from 1."""

_OPTIONAL = ("index", "number", "id")
"""Attributes of the header that a model may leave out."""

_GAP = re.compile(rf"[{WHITESPACE}]{{0,{MAX_GAP}}}+")
_LINE = "\n"


class ElementCall(Body, frozen=True):
    """The header's template, the template of one argument, and what decides the type of a value.

    Whitespace of ``argument`` directly next to ``{value}`` is exact: so much is stripped there, once, if it is there.
    """

    head: str
    argument: str
    values: ValueRule = BySchema()

    @property
    def markers(self) -> Iterable[str]:
        return (self.head, self.argument)

    @property
    def template(self) -> ElementTemplate:
        """The argument's template, taken apart."""
        return element_template(self.argument, self.values.attributes)

    def encoded(self, encode: Callable[[str], str]) -> Self:
        return replace(self, head=encode(self.head), argument=encode(self.argument))

    def read(self, machine: Machine) -> Reading[None]:
        heads = spellings_without(self.head, _OPTIONAL)
        markers = _markers(machine)
        slots = yield from machine.header(heads, self.template.head[0] + markers.first)
        machine.named(slots["name"])
        yield from ElementReader(self, machine, slots["name"], markers).read()

    def render(self, call: Call, index: int, tool: Tool | None, vary: Rng | None) -> str:
        require_object(call)
        slots = {"name": call.name, "index": str(index), "number": str(index + 1), "id": call.id}
        return _Writer(self, tool, vary).written(slots, call.arguments)

    def grammar(self, tool: Tool) -> Pieces:
        style = _STYLES.get(re.sub("[\n~]", "", self.argument))
        if style is None:
            raise GrammarError(
                f"calls of {tool.name!r} cannot be constrained: there is no grammar for arguments written as "
                f"{self.argument!r}; ask for tool_choice auto or none, without strict tools"
            )
        head = [_SLOTS.get(value, tool.name) if kind == "word" else value for kind, value in parts_of(self.head)]
        schema = JsonSchema(arguments_schema(tool), style=style, max_whitespace_cnt=MAX_WHITESPACE)
        return (*head, schema)


def _markers(machine: Machine) -> Scan[str]:
    """Every marker that can end a call."""
    frames = [frame for calls in machine.layout.form.calls for frame in (calls.call, calls.section) if frame]
    return machine.layout.markers((*sorted(spellings(frames)), *machine.layout.form.trailer))


class _End(NamedTuple):
    """Where a value's text is certain to reach, and where reading goes on behind the value (NO: it has not ended)."""

    stop: int
    after: int = NO
    repaired: bool = False


class _Closing(NamedTuple):
    """What can end a value: its closer (or an argument that begins, if ``closer`` is not found), and the whitespace
    before it.
    """

    scan: Scan[str]
    closer: str
    pad: str


class ElementReader:
    """Reads the arguments of one call."""

    def __init__(self, body: ElementCall, machine: Machine, name: str, markers: Scan[str]) -> None:
        tool = next((tool for tool in machine.request.tools if tool.name == name), None)
        self.machine = machine
        self._body = body
        self._template = body.template
        self._schema = Subschema.of_tool(tool)
        self._openers = machine.layout.templates(self._template.openers, "")
        self._markers = markers
        self._opening = machine.layout.markers((self._template.head,))
        self._missing = set(declared(tool)) if machine.may_repair else set()
        self._given: set[str] = set()
        self._begun = False

    def read(self) -> Reading[None]:
        """Read all arguments, announce the call and pass them on as JSON."""
        while (slots := (yield from self._next())) is not None:
            yield from self._argument(slots)
        self._emit("}" if self._begun else "{}")
        self.machine.complete()

    # -- what comes next

    def _next(self) -> Reading[Slots | None]:
        """Read the next argument's opener. None: the arguments end here."""
        machine = self.machine
        while True:
            yield from machine.skip()
            found = self._here(machine.text, machine.at)
            if found is None:
                return None
            if found.end >= 0:
                machine.trail = [*(machine.trail or ()), machine.slice(found.end)]
                return found.slots
            if found.end == NO:
                raise Stopped if self._begun else Failed
            yield from machine.more()

    def _here(self, text: str, at: int) -> Filled | None:
        """The opener at ``at``; None where a marker stands that ends the call."""
        machine = self.machine
        if at == len(text):
            return None if machine.eof and self._begun and not machine.cut else Filled(PARTIAL, {})
        ender = self._markers.at(text, at, eof=machine.eof)
        if ender.end >= 0:
            return None
        opener = self._opener(text, at)
        half = self._markers.at(text, at, eof=False).end == PARTIAL
        return Filled(PARTIAL, {}) if half else opener

    def _opener(self, text: str, at: int) -> Filled:
        """The opener of an argument at ``at``, also when only half of it stands at the end of the output."""
        found = Filled(NO, {})
        for template in self._openers:
            found = template.match(text, at, eof=False)
            if found.end != NO:
                return found
        return found

    # -- one argument

    def _argument(self, slots: Slots) -> Reading[None]:
        machine = self.machine
        key = machine.layout.binding.expand(slots["key"])
        self._begin()
        if key in self._given:
            machine.malformed()
        start = f"{', ' if self._given else ''}{quote(key)}: "
        self._given.add(key)
        self._missing.discard(key)
        yield from self._mark()
        schema = self._schema.property(key) if self._schema else None
        if not self._body.values.streams(slots, schema):
            self._emit(start + (yield from self._body.values.held(self, slots, schema)))
            return
        self._emit(start + '"')
        yield from self._string(slots)
        self._emit('"')

    def _begin(self) -> None:
        """An argument begins; with the first the call is certain. Until its value is passed on, its text is kept."""
        machine = self.machine
        if self._begun:
            return
        opener = (machine.trail or [""])[-1]
        machine.begin()
        self._begun = True
        self._emit("{")
        machine.trail = [opener]

    def _emit(self, json_text: str) -> None:
        """More of the arguments: all that was read so far is in them."""
        if not self._begun:
            self.machine.begin()
        self.machine.arguments(json_text)
        self.machine.trail = []

    def _mark(self) -> Reading[None]:
        """Read the marker between key and value; models forget it."""
        machine, mark = self.machine, self._template.mark
        if not mark:
            return
        yield from machine.skip()
        scan = machine.layout.markers((mark,))
        while (end := scan.at(machine.text, machine.at, eof=False).end) == PARTIAL:
            yield from machine.more()
        if end >= 0:
            machine.take(end)
        elif machine.may_repair:
            machine.repaired("missing_opener")
        else:
            raise Stopped

    # -- values

    def _string(self, slots: Slots) -> Reading[None]:
        """Pass a string on as it comes, and read its closer."""
        machine = self.machine
        closing = yield from self._closing(slots)
        while True:
            end = self._end(closing)
            if end.stop > machine.at:
                machine.arguments(escape(machine.layout.binding.expand(machine.slice(end.stop))))
            if end.after >= 0:
                return self._close(end)
            yield from machine.more()

    def text(self, slots: Slots) -> Reading[str]:
        """Read the whole text of a value, and its closer."""
        machine, pieces = self.machine, []
        closing = yield from self._closing(slots)
        while True:
            end = self._end(closing)
            pieces.append(machine.take(end.stop))
            if end.after >= 0:
                self._close(end)
                return machine.layout.binding.expand("".join(pieces))
            yield from machine.more()

    def _close(self, end: _End) -> None:
        self.machine.take(end.after)
        if end.repaired:
            self.machine.repaired("missing_closer")

    def _closing(self, slots: Slots) -> Reading[_Closing]:
        """Read the whitespace that frames the value. Returns what can end the value."""
        template, machine = self._template, self.machine
        pad = template.trail
        if template.loose:
            pad = _LINE if (yield from self._framed(_LINE)) else ""
        elif template.lead:
            yield from self._framed(template.lead)
        closer = fill(template.closer_parts, slots)
        wanted = (closer, template.head) if self._missing else (closer,)
        return _Closing(Scan(((one, one) for one in wanted), exact=machine.layout.exact), closer, pad)

    def _framed(self, space: str) -> Reading[bool]:
        """Read exactly ``space``, if it is there."""
        machine = self.machine
        while not machine.text.startswith(space, machine.at):
            if machine.eof or not space.startswith(machine.text[machine.at : machine.at + len(space)]):
                return False
            yield
        machine.take(machine.at + len(space))
        return True

    def _end(self, closing: _Closing) -> _End:
        """Where the value ends in what has arrived. What could be its end is held back until that is known."""
        text, start, eof = self.machine.text, self.machine.at, self.machine.eof
        while True:
            hit = closing.scan.find(text, start, eof=eof)
            if hit.action is None:
                return _End(len(text) if eof else self._unpadded(closing.pad, hit.start))
            closed = hit.action == closing.closer
            verdict = self._followed(text, hit.end) if closed else self._forgotten(text, hit.start)
            if verdict == PARTIAL and not eof:
                return _End(self._unpadded(closing.pad, hit.start))
            if verdict != NO:
                stop = self._unpadded(closing.pad, hit.start)
                return _End(stop, hit.end if closed else hit.start, repaired=not closed)
            start = hit.start + 1

    def _unpadded(self, pad: str, stop: int) -> int:
        """``stop`` less the framing whitespace before it, or less what at the end of the text may become it."""
        text, at = self.machine.text, self.machine.at
        shortest = 1 if stop == len(text) else len(pad)
        for length in range(len(pad), shortest - 1, -1):
            if length and text.endswith(pad[:length], at, stop):
                return stop - length
        return stop

    def _followed(self, text: str, at: int) -> int:
        """Whether behind a closer the format goes on, or the output ends: NO, PARTIAL while that is open."""
        at = reach(_GAP, text, at)
        if at == len(text):
            return PARTIAL if not self.machine.eof else at
        found = max(scan.at(text, at, eof=False).end for scan in (self._opening, self._markers))
        if found < 0 and PARTIAL in (scan.at(text, at, eof=False).end for scan in (self._opening, self._markers)):
            return PARTIAL
        return found

    def _forgotten(self, text: str, at: int) -> int:
        """Whether at ``at`` an argument begins that the tool declares and that is not yet given."""
        found = self._opener(text, at)
        if found.end < 0:
            return NO if self.machine.eof else found.end
        return found.end if found.slots["key"] in self._missing else NO


def declared(tool: Tool | None) -> Iterable[str]:
    """The parameters that a tool names."""
    properties = (tool.parameters or {}).get("properties") if tool else None
    return properties if isinstance(properties, Mapping) else ()
