"""A plugin file: parsers that break one law each, to see that the kit sees it."""

from __future__ import annotations

import json
import re

from msgspec.structs import replace

from toolglot import ArgumentsDelta, CallEnd, CallStart, ContentDelta, hookimpl, register_parser
from toolglot.events import MessageBuilder
from toolglot.formats import Calls, Frame, JsonCall, WireFormat, WireFormatParser
from toolglot.requests import Delta, State

FORM = WireFormat((Calls(JsonCall(), call=Frame(("<call>\n",), ("\n</call>",)), separator="\n"),))


class Good(WireFormatParser):
    """Breaks nothing: the whole text goes through the streaming hook, which the others change."""

    def __init__(self, form=FORM, tokenizer=None):
        super().__init__(form, tokenizer=tokenizer)

    def configured(self, tokenizer, **changes):
        return type(self)(replace(self.form, **changes), tokenizer)

    def events(self, delta, state, request):
        return WireFormatParser.extract_tool_calls_streaming(self, delta, state, request)

    @hookimpl
    def extract_tool_calls_streaming(self, delta, state, request):
        return self.events(delta, state, request)

    @hookimpl
    def extract_tool_calls(self, output, request):
        builder = MessageBuilder()
        for event in self.events(Delta(output.text, output.token_ids, output.marks, output.finish), State(), request):
            builder.add(event)
        return builder.message()


class Forgetful(Good):
    """Does not remember what came before: markers that are split are missed."""

    def events(self, delta, state, request):
        last = replace(delta, finish=delta.finish or "stop")
        return super().events(last, State(), request)


class TwoPaths(Good):
    """Its whole-text path differs from its streaming path."""

    @hookimpl
    def extract_tool_calls(self, output, request):
        message = super().extract_tool_calls(output, request)
        return replace(message, content=(message.content or "").strip() or None)


class Loser(Good):
    """Loses what cannot be read."""

    def events(self, delta, state, request):
        events = super().events(delta, state, request)
        return [event for event in events if not (isinstance(event, ContentDelta) and event.unparsed)]


class Tidy(Good):
    """Writes arguments anew."""

    def events(self, delta, state, request):
        slot = state.of(self, list)
        events = []
        for event in super().events(delta, state, request):
            if isinstance(event, ArgumentsDelta):
                slot.append(event.text)
                continue
            if isinstance(event, CallEnd) and slot:
                events.append(ArgumentsDelta(event.index, tidied("".join(slot))))
                slot.clear()
            events.append(event)
        return events


class Completer(Good):
    """Closes what was cut."""

    def events(self, delta, state, request):
        events = []
        for event in super().events(delta, state, request):
            if isinstance(event, CallEnd) and event.outcome == "truncated":
                events.append(ArgumentsDelta(event.index, "}"))
            events.append(event)
        return events


class Dropper(Good):
    """Leaves out the calls that were cut."""

    def events(self, delta, state, request):
        slot = state.of(self, list)
        kept = []
        for event in super().events(delta, state, request):
            if isinstance(event, CallStart) or slot:
                slot.append(event)
            else:
                kept.append(event)
            if isinstance(event, CallEnd):
                kept += [] if event.outcome == "truncated" else slot
                slot.clear()
        return kept


class Hoarder(Good):
    """Says nothing before the end."""

    def events(self, delta, state, request):
        slot = state.of(self, list)
        slot += super().events(delta, state, request)
        return slot if delta.finish else []


class Rereader(Good):
    """Reads everything again with each delta."""

    def events(self, delta, state, request):
        slot = state.of(self, list)
        slot.append(delta)
        again = State()
        for old in slot[:-1]:
            super().events(replace(old, finish=None), again, request)
        return super().events(delta, again, request)


class Rescanner(Good):
    """Searches everything again with each delta, in C."""

    def events(self, delta, state, request):
        slot = state.of(self, list)
        slot[:] = ["".join(slot) + delta.text]
        re.search("<call>[^<]*</call>$", slot[0])
        return super().events(delta, state, request)


class Raiser(Good):
    """Fails on what it does not expect."""

    def events(self, delta, state, request):
        if "\0" in delta.text:
            raise ValueError("NUL")
        return super().events(delta, state, request)


def tidied(text):
    try:
        return json.dumps(json.loads(text))
    except ValueError:
        return text


for parser in (Good, Forgetful, TwoPaths, Loser, Tidy, Completer, Dropper, Hoarder, Rereader, Rescanner, Raiser):
    register_parser(f"broken_{parser.__name__.lower()}", parser())
register_parser(
    "broken_marker", WireFormatParser(WireFormat((Calls(JsonCall(), call=Frame(("<cal>",), ("</cal>",))),)))
)
