"""The call that is being read: what a body says of it, and how it is announced and ended."""

from __future__ import annotations

from collections.abc import Mapping

from toolglot.events import ArgumentsDelta, CallEnd, CallStart, Finish, Outcome, Repair
from toolglot.formats.channels import Channels
from toolglot.formats.cursor import Broken, Cursor, Failed, Reading
from toolglot.formats.layout import Layout
from toolglot.formats.markers import PARTIAL
from toolglot.requests import Request, Tool
from toolglot.validation import Validator


class _Open:
    """The call that is being read."""

    __slots__ = ("complete", "id", "index", "malformed", "name", "pieces", "repairs", "truncated")

    def __init__(self, index: int, made: str, name: str) -> None:
        self.index = index
        self.id = made
        self.name = name
        self.pieces: list[str] = []
        self.repairs: list[Repair] = []
        self.complete = self.malformed = self.truncated = False


class CallCursor(Cursor):
    """The cursor with what bodies need: they read at it, and say what they have read."""

    def __init__(self, layout: Layout, request: Request, validator: Validator) -> None:
        super().__init__(layout)
        self.request = request
        self._validator = validator
        self._names = {tool.name: tool for tool in request.tools}
        self._finish: Finish = "stop"
        self._out = Channels(layout.binding)
        reasoning = layout.form.reasoning
        self._fence = reasoning is not None  # reasoning may open here
        self._again = reasoning is not None and reasoning.again
        self._late: tuple[str, ...] = ()  # closers of a call that may still come
        self._bare = False  # the opener of what is being tried could be ordinary text
        self._count = 0
        self._named: str | None = None
        self._own: str | None = None
        self._rest: list[str] = []
        self._behind: list[str] = []  # whitespace behind a call without a closer
        self._call: _Open | None = None

    @property
    def cut(self) -> bool:
        """The output ended because of a limit, not because the model was done."""
        return self._finish != "stop"

    def wrong(self) -> Failed | Broken:
        return Failed() if self._call is None else Broken()

    @property
    def bare(self) -> bool:
        """The call's opener could be ordinary text: its name must come first, and be an offered one."""
        return self._bare

    @property
    def tool(self) -> Tool | None:
        """The offered tool that is called, once its name is known."""
        return self._names.get(self._named or "")

    def header(self, templates: tuple[str, ...], stops: str) -> Reading[Mapping[str, str]]:
        """Read what one of ``templates`` says; ``stops`` are the characters with which what follows can begin.

        Returns its slots. Raises Failed or Broken.
        """
        compiled = self.layout.templates(templates, stops + self.layout.enders.first)
        while True:
            partial = False
            for template in compiled:
                filled = template.match(self.text, self.at, eof=self.eof)
                if filled.end >= 0 and not partial:
                    self.take(filled.end)
                    return filled.slots
                partial |= filled.end == PARTIAL
            if not partial:
                raise self.wrong()
            yield from self.more()

    def at_ender(self) -> Reading[bool]:
        """Whether a marker that can end the call stands here, or the output ends."""
        while True:
            if self.at < len(self.text):
                hit = self.layout.enders.at(self.text, self.at, eof=self.eof)
                if hit.end != PARTIAL:
                    return hit.end >= 0
            elif self.eof:
                return not self.cut
            yield

    def supply(self, repair: Repair) -> None:
        """Announce a call that has no arguments; `{}` is supplied where repairs are made."""
        self.begin()
        if self.repaired(repair):
            self.arguments("{}")
        self.complete()

    def named(self, name: str) -> None:
        """The call's name is known. Raises Failed when such a call is to be content."""
        offered = name in self._names
        if not name or (not offered and (self._bare or self.request.unknown_tools == "content")):
            raise Failed
        name = self.layout.binding.expand(name)
        if self._named not in (None, name):
            self._rest.append(self._named or "")  # the header's, where the call itself gives another
        self._named = name

    def identified(self, own: str) -> None:
        """The id that the model wrote is known."""
        self._own = own

    def begin(self) -> None:
        """Announce the call: its name and the first of its arguments, or its end, are known."""
        assert self._named is not None
        self.trail, self._late, self._bare = None, (), False
        self._out.drop()
        self._out.turn("content")
        number = self.request.earlier_calls + self._count
        made = self.layout.form.ids.make(self._named, number, self._own)
        self._call = _Open(self._count, made, self._named)
        self._out.add(CallStart(self._count, made, self._named))
        self._count += 1

    def arguments(self, text: str) -> None:
        """More of the announced call's arguments."""
        assert self._call is not None
        text = self.layout.binding.expand(text)
        if text:
            self._call.pieces.append(text)
            self._out.add(ArgumentsDelta(self._call.index, text))

    def rest(self, text: str) -> None:
        """Text inside the call's frame that is neither name nor arguments."""
        self._rest.append(text)

    def tentative(self) -> None:
        """After the announcement: what is read from here on is kept, until it is known what it is."""
        if self._call is not None:
            self.trail = []

    def settle(self) -> None:
        """It is known."""
        if self._call is not None:
            self.trail = None

    @property
    def may_repair(self) -> bool:
        """Whether repairs are made in this output."""
        return self.request.repair and not self.layout.exact

    def repaired(self, repair: Repair) -> bool:
        """Note a repair. Where none is allowed the call is malformed instead; returns whether it was made."""
        assert self._call is not None
        if not self.may_repair:
            self._call.malformed = True
        elif repair not in self._call.repairs:
            self._call.repairs.append(repair)
        return self.may_repair

    def complete(self) -> None:
        """The arguments are whole."""
        assert self._call is not None
        self._call.complete = True

    def malformed(self) -> None:
        """The call breaks its format, in a way that does not end it. Raises Failed before it was announced."""
        if self._call is None:
            raise Failed
        self._call.malformed = True

    def _end(self) -> None:
        """The announced call is over."""
        call = self._call
        assert call is not None
        if self._own is not None and self._own != call.id:
            self.rest(self._own)  # an id that the model wrote, where another one is made
        outcome = self._outcome(call, "".join(call.pieces))
        rest = self.layout.binding.expand("".join(self._rest))
        self._out.add(CallEnd(call.index, outcome, tuple(call.repairs), rest))
        self._call = None
        self._out.restart(self._behind)
        self._fence = self._again

    def _outcome(self, call: _Open, arguments: str) -> Outcome:
        if call.truncated:
            return "truncated"
        if call.malformed:
            return "malformed"
        return self._validator.outcome(call.name, arguments)
