"""A call as a header and one element per argument: ``get_weather><parameter=city>Oslo</parameter>``.

Strings stand in it as they are, without escapes. A value therefore ends at the first closer behind which the format can
go on; any other closer is part of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from random import Random as Rng
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from msgspec.structs import replace

from toolglot.errors import RenderError
from toolglot.formats.bare_value import Subschema
from toolglot.formats.body import Body
from toolglot.formats.cursor import Broken, Failed, Stopped
from toolglot.formats.declaration import spellings
from toolglot.formats.element_grammar import ElementGrammar
from toolglot.formats.element_template import (
    ElementTemplate,
    Slots,
    element_template,
    spaced,
    without_attributes,
    written,
)
from toolglot.formats.json_text import require_object
from toolglot.formats.markers import MAX_GAP, NO, PARTIAL, WHITESPACE, Scan, reach, scan_of
from toolglot.formats.synthesis import escape, quote
from toolglot.formats.templates import Filled, Template, fill, parts_of
from toolglot.formats.values import BySchema, ValueRule
from toolglot.structural_tag import Regex

if TYPE_CHECKING:
    from toolglot.events import Call
    from toolglot.formats.body import Pieces
    from toolglot.formats.cursor import Reading
    from toolglot.formats.machine import Machine
    from toolglot.formats.signature import Signature
    from toolglot.requests import Tool
    from toolglot.structural_tag import Format

_SLOTS: dict[str, Format] = {"index": Regex('"[0-9]{1,3}"'), "number": Regex('"[1-9][0-9]{0,2}"')}
"""What the grammar admits where the header holds more than the name: the call's number, from 0 and from 1."""

_OPTIONAL = ("index", "number", "id")
"""Attributes of the header that a model may leave out."""
_AGAIN = "recipient"
"""The slot in which a header says the name once more."""

_GAP = re.compile(rf"[{WHITESPACE}]{{0,{MAX_GAP}}}+")
_LINE = "\n"
_LOOSE = str.maketrans("", "", WHITESPACE + "\"'")
"""Removes what may vary in an opener."""


class ElementCall(Body, frozen=True):
    """The header's template, the template of one argument, and what decides the type of a value.

    Besides ``{name}`` the header may hold ``{index}``, ``{number}`` (from 1), ``{id}``, and ``{recipient}``, which is
    the name too.

    Whitespace of ``argument`` directly next to ``{value}`` is exact: so much is stripped there, once, if it is there.
    """

    head: str
    argument: str
    values: ValueRule = BySchema()

    @property
    def heads(self) -> tuple[str, ...]:
        return without_attributes(self.head, _OPTIONAL)

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
        markers = _markers(machine)
        slots = yield from machine.header(self.heads, self.template.head[0] + markers.first)
        machine.named(slots.get(_AGAIN, slots["name"]))
        machine.named(slots["name"])
        machine.rest("".join(slots[name] for name in _OPTIONAL if not slots.get(name, "0").isdecimal()))
        yield from ElementReader(self, machine, slots["name"], markers).read()

    def render(self, call: Call, index: int, tool: Tool | None, vary: Rng | None) -> str:
        require_object(call)
        slots = {"name": call.name, "index": str(index), "number": str(index + 1), "id": call.id, _AGAIN: call.name}
        head = written(vary.choice(self.heads) if vary else self.head, slots, vary, stops=self.template.head[0])
        members = list(json.loads(call.arguments).items())
        if vary:
            vary.shuffle(members)
        writer = _Writer(self, tool, vary)
        return head + "".join(writer.argument(key, value) for key, value in members)

    def grammar(self, signature: Signature) -> Pieces:
        name = {"name": signature.name, _AGAIN: signature.name}
        head = (_SLOTS.get(part.value) or fill([part], name) for part in parts_of(self.head))
        return (*head, ElementGrammar(signature, self.template, self.values).arguments())


def _markers(machine: Machine) -> Scan[str]:
    """Every marker that can end a call."""
    frames = [frame for calls in machine.layout.form.calls for frame in (calls.call, calls.section) if frame]
    return machine.layout.markers((*sorted(spellings(frames)), *machine.layout.form.trailer))


def declared(tool: Tool | None) -> Iterable[str]:
    """The parameters that a tool names."""
    properties = (tool.parameters or {}).get("properties") if tool else None
    return properties if isinstance(properties, Mapping) else ()


class _Closing(NamedTuple):
    """What can end a value: its closer, or an argument that begins; and the whitespace that frames it."""

    scan: Scan[str]
    closer: str
    pad: str


class _End(NamedTuple):
    """How far a value's text is certain to reach, and where reading goes on behind the value (NO: it goes on)."""

    stop: int
    after: int = NO
    repaired: bool = False


class ElementReader:
    """Reads the arguments of one call."""

    def __init__(self, body: ElementCall, machine: Machine, name: str, markers: Scan[str]) -> None:
        tool = next((tool for tool in machine.request.tools if tool.name == name), None)
        self.machine = machine
        self.template = body.template
        self._rule = body.values
        self._schema = Subschema.of_tool(tool)
        self._openers = machine.layout.templates(self.template.openers, "")
        self._followers = (machine.layout.markers((self.template.head,)), markers)
        self._missing = set(declared(tool)) if machine.may_repair else set()
        self._given: set[str] = set()
        self._begun = False

    def read(self) -> Reading[None]:
        """Read all arguments, announce the call and pass them on as JSON."""
        while (slots := (yield from self._next())) is not None:
            yield from self._argument(slots)
        self._begin("{")
        self._emit("}")
        self.machine.complete()

    def _begin(self, json_text: str) -> None:
        """The first argument, or the end, is there: the call is certain."""
        if not self._begun:
            self._begun = True
            self.machine.begin()
            self._emit(json_text)

    def _emit(self, json_text: str) -> None:
        """More of the arguments, in which all that was read so far is."""
        self.machine.arguments(json_text)
        self.machine.trail = []

    # -- what comes next

    def _next(self) -> Reading[Slots | None]:
        """Read the opener of the next argument, and keep its text until the value is passed on.

        Returns its slots; None where the arguments end.
        """
        machine = self.machine
        try:
            yield from machine.gap(self.template.tail if self._given else "")
        except Broken:  # as wherever an opener could be
            raise Stopped from None
        while True:
            found = self._here(machine.text, machine.at)
            if found is None:
                return None
            if found.end >= 0:
                opener = machine.slice(found.end)
                self._begin("{")
                machine.trail = [opener]
                return dict(found.slots)
            if found.end == NO:
                raise Stopped if self._begun else Failed
            yield from machine.more()

    def _here(self, text: str, at: int) -> Filled | None:
        """The opener at ``at``; None where the arguments end."""
        machine, behind = self.machine, reach(_GAP, text, at)  # whitespace before a marker is left to who reads that
        if behind == len(text):
            return None if self._over and self._begun else Filled(PARTIAL, {})
        marker = self._followers[1].at(text, behind, eof=machine.eof)
        if marker.end >= 0:
            return None
        half = self._followers[1].at(text, behind, eof=False)
        return Filled(PARTIAL, {}) if half.end == PARTIAL else self._opener(text, at)

    def _opener(self, text: str, at: int) -> Filled:
        """The opener of an argument at ``at``; half of it at the end of the output is PARTIAL too."""
        if text.startswith(self.template.closer_head, at):  # it may look like the opener of a key ``/city``
            return Filled(NO, {})
        for template in self._openers:
            found = template.match(text, at, eof=False)
            if found.end != NO:
                return found
        return Filled(NO, {})

    # -- one argument

    def _argument(self, slots: Slots) -> Reading[None]:
        key = self.machine.layout.binding.expand(slots["key"])
        if key in self._given and not self.machine.layout.exact:  # the grammar sees to what is given once
            self.machine.malformed()
        start = f"{', ' if self._given else ''}{quote(key)}: "
        self._given.add(key)
        self._missing.discard(key)
        yield from self._mark()
        schema = self._schema.property(key) if self._schema else None
        if self._rule.streams(slots, schema):
            self._emit(start + '"')
            yield from self._string(slots)
            self._emit('"')
        else:
            value = yield from self._rule.held(self, slots, schema)
            self._emit(start + value)
            self.machine.rest("".join(slots[name] for name in self._rule.unknown(slots)))

    def _mark(self) -> Reading[None]:
        """Read the marker between key and value; models forget it."""
        machine, mark = self.machine, self.template.mark
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
        machine.trail = []
        while True:
            end = self._end(closing)
            if end.stop > machine.at:
                machine.arguments(escape(machine.layout.binding.expand(machine.slice(end.stop))))
            if end.after != NO:
                return self._close(end)
            yield from machine.more()

    def text(self, slots: Slots) -> Reading[str]:
        """Read the whole text of a value, and its closer."""
        machine, pieces = self.machine, []
        closing = yield from self._closing(slots)
        while True:
            end = self._end(closing)
            pieces.append(machine.take(end.stop))
            if end.after != NO:
                self._close(end)
                return machine.layout.binding.expand("".join(pieces))
            yield from machine.more()

    def tag(self) -> Reading[tuple[str, str, bool]]:
        """Read up to the next opener or closer of an element, and it.

        Returns the text before it, its key, and whether it closes. Raises Stopped when it is none.
        """
        machine, pieces = self.machine, []
        closer = self.template.closer
        scan = machine.layout.markers((self.template.head, self.template.closer_head))
        while True:
            hit = scan.find(machine.text, machine.at, eof=machine.eof)
            pieces.append(machine.take(hit.start))
            if hit.action is not None:
                closes = hit.action != self.template.head
                wanted = (closer,) if closes else self.template.openers
                found = machine.layout.templates(wanted, "")[0].match(machine.text, machine.at, eof=False)
                if found.end >= 0:
                    machine.take(found.end)
                    return machine.layout.binding.expand("".join(pieces)), found.slots["key"], closes
                if found.end == NO:
                    raise Stopped
            yield from machine.more()

    @property
    def _over(self) -> bool:
        """The model has ended the output. Where a limit cut it, what would have followed is as open as anywhere."""
        return self.machine.eof and not self.machine.cut

    def _close(self, end: _End) -> None:
        self.machine.take(end.after)
        if end.repaired:
            self.machine.repaired("missing_closer")

    def _closing(self, slots: Slots) -> Reading[_Closing]:
        """Read what frames the value on the side of its opener. Returns what can end the value."""
        template, pad = self.template, self.template.trail
        closer = template.closed(slots)
        if template.loose:
            pad = _LINE if (yield from self._framed(_LINE)) else ""
        elif template.lead:
            yield from self._framed(template.lead)
        if self._rule.quotes and (yield from self._framed(self._rule.quotes[0])):
            closer, pad = self._rule.quotes[1] + closer, ""
        wanted = (closer, template.head) if self._missing else (closer,)
        layout = self.machine.layout  # it keeps what it compiles, which must not be markers with a model's keys in them
        scan = scan_of(wanted, exact=layout.exact) if template.keyed else layout.markers(wanted)
        return _Closing(scan, closer, pad)

    def _framed(self, text: str) -> Reading[bool]:
        """Read exactly ``text``, if it is there."""
        machine = self.machine
        while not machine.text.startswith(text, machine.at):
            if self._over or not text.startswith(machine.text[machine.at : machine.at + len(text)]):
                return False
            yield from machine.more()
        machine.take(machine.at + len(text))
        return True

    def _end(self, closing: _Closing) -> _End:
        """Where the value ends in what has arrived. What could be its end is held back until that is known."""
        text, start = self.machine.text, self.machine.at
        while True:
            hit = closing.scan.find(text, start, eof=self._over)
            if hit.action is None:
                return _End(len(text) if self._over else self._unpadded(closing.pad, hit.start))
            closed = hit.action == closing.closer
            verdict = self._followed(text, hit.end) if closed else self._forgotten(text, hit.start)
            if verdict == PARTIAL:
                return _End(self._unpadded(closing.pad, hit.start))
            if verdict != NO:
                stop = self._unpadded(closing.pad, hit.start)
                return _End(stop, hit.end if closed else hit.start, repaired=not closed)
            start = hit.start + 1

    def _unpadded(self, pad: str, stop: int) -> int:
        """``stop`` less the framing whitespace before it, and less what at the end of the text may become that."""
        text, at = self.machine.text, self.machine.at
        shortest = 1 if stop == len(text) else max(len(pad), 1)
        for length in range(len(pad), shortest - 1, -1):
            if text.endswith(pad[:length], at, stop):
                return stop - length
        return stop

    def _followed(self, text: str, at: int) -> int:
        """Whether behind a closer the format goes on, or the output ends: NO, or PARTIAL while that is open."""
        at = reach(_GAP, text, at)
        ends = [0 if self._over else PARTIAL]
        if at < len(text):
            ends = [scan.at(text, at, eof=eof).end for scan in self._followers for eof in (False, True)]
        if max(ends) >= 0 or (self._over and PARTIAL in ends):
            return at
        return PARTIAL if PARTIAL in ends else NO

    def _forgotten(self, text: str, at: int) -> int:
        """Whether at ``at`` an argument begins that the tool declares and that is not yet given."""
        found = self._opener(text, at)
        if found.end == PARTIAL:
            return PARTIAL if not self._over and self._may_become(text[at:]) else NO
        return found.end if found.end >= 0 and found.slots["key"] in self._missing else NO

    def _may_become(self, begun: str) -> bool:
        """Whether the beginning of an opener can be that of an argument which is not yet given."""
        begun = begun.translate(_LOOSE)
        openers = [self.template.named(key).translate(_LOOSE) for key in self._missing]
        return any(one.startswith(begun) or begun.startswith(one) for one in openers)


class _Writer:
    """Writes the arguments of one call."""

    def __init__(self, body: ElementCall, tool: Tool | None, vary: Rng | None) -> None:
        self._rule = body.values
        self._template = body.template
        self._schema = Subschema.of_tool(tool)
        self._missing = set(declared(tool))
        self._vary = vary

    def argument(self, key: str, value: Any) -> str:
        """One argument. Raises RenderError when it would not be read back."""
        template, vary = self._template, self._vary
        self._missing.discard(key)
        schema = self._schema.property(key) if self._schema else None
        slots = {"key": key, **self._rule.slots(value)}
        text = self._rule.write(value, slots, schema, template, vary)
        lead, trail = self._frame(text)
        mark = spaced(template.gap, vary) + template.mark if template.mark else ""
        opener, closer = template.markers(slots, vary)
        if not self._rule.closes(text + trail, closer) or self._reopened(text):
            raise RenderError(f"the argument {key!r} cannot be written: the text of a marker in it would end it")
        return opener + mark + lead + text + trail + closer + spaced(template.tail, vary)

    def _frame(self, text: str) -> tuple[str, str]:
        """The whitespace before and behind a value."""
        template = self._template
        if template.loose:
            return (_LINE, _LINE) if text.startswith(_LINE) or self._chance() else ("", "")
        lead = "" if not text.startswith(template.lead) and self._chance() else template.lead
        trail = "" if not text.endswith(template.trail) and self._chance() else template.trail
        return lead, trail

    def _chance(self) -> bool:
        return self._vary is not None and self._vary.random() < 0.3

    def _reopened(self, text: str) -> bool:
        """Whether an argument that is not yet given seems to begin in a value."""
        scan, at = scan_of([self._template.head]), 0
        templates = [Template(parts_of(one)) for one in self._template.openers]
        while (hit := scan.find(text, at, eof=True)).end >= 0:
            found = [template.match(text, hit.start, eof=True) for template in templates]
            if any(one.end >= 0 and one.slots["key"] in self._missing for one in found):
                return True
            at = hit.start + 1
        return False
