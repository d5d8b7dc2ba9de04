"""The machine that reads one output: straight-line code that waits where the text ends, for all formats.

A reader is a generator: it yields when the text at hand is used up, and goes on when more has come. Positions do not
survive a ``yield``, since what was read is dropped then. What must be held back is bounded: a marker, a name,
whitespace before a marker.

Until a call is certain its text is kept (``trail``), so that it can be given back as content. It is certain when its
name and the first of its arguments, or its end, are known; from then on nothing is taken back.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Literal, TypeAlias, TypeVar

from toolglot.events import (
    ArgumentsDelta,
    CallEnd,
    CallStart,
    ContentDelta,
    Event,
    Finish,
    Outcome,
    ReasoningDelta,
    Repair,
)
from toolglot.formats.declaration import Calls
from toolglot.formats.layout import FenceClose, FenceOpen, Late, Layout, Opening, Sign, Trailer
from toolglot.formats.markers import PARTIAL, SPACES, WHITESPACE, Hit, Scan, reach
from toolglot.requests import Request
from toolglot.validation import Validator

T = TypeVar("T")
Reading: TypeAlias = Generator[None, None, T]
"""A reader: yields when it needs more text, returns what it found."""


class Failed(Exception):  # noqa: N818  # control flow, not an error
    """What was being read is no call; nothing of it has been announced."""


class Broken(Exception):  # noqa: N818  # control flow, not an error
    """A call that has been announced breaks its format here."""


class Cut(Exception):  # noqa: N818  # control flow, not an error
    """The output ended here."""


class _Open:
    """The call that is being read."""

    __slots__ = ("complete", "index", "malformed", "name", "pieces", "repairs", "truncated")

    def __init__(self, index: int, name: str) -> None:
        self.index = index
        self.name = name
        self.pieces: list[str] = []
        self.repairs: list[Repair] = []
        self.complete = self.malformed = self.truncated = False


class Machine:
    """Reads one output. :meth:`feed` and :meth:`finish` return what has become certain; the other methods are for
    bodies.
    """

    def __init__(self, layout: Layout, request: Request, validator: Validator) -> None:
        self.layout = layout
        self.request = request
        self.text = ""
        self.at = 0
        self.eof = False
        self._validator = validator
        self._names = {tool.name for tool in request.tools}
        self._calls = request.calls_allowed
        self._finish: Finish = "stop"
        self._events: list[Event] = []
        self._said: list[str] = []  # text of the channel that is not in an event yet
        self._unparsed = False
        self._channel: Literal["content", "reasoning"] = "content"
        self._space: list[str] = []  # trailing whitespace that may turn out to be framing
        self._spoken = False  # something was said since the last marker or the start
        self._marked = False  # a marker was read
        self._fence = layout.form.reasoning is not None
        self._late: tuple[str, ...] = ()  # closers of a call that may still come
        self._inside: Calls | None = None  # the dialect whose section is still open
        self._trail: list[str] | None = None
        self._markers = 0  # how many pieces of the trail are markers
        self._count = 0
        self._named: str | None = None
        self._own: str | None = None
        self._rest: list[str] = []
        self._call: _Open | None = None
        self._run = self._output()
        next(self._run)

    # -- the whole output
    # ------------------------------------------------------------------------------------------------

    def feed(self, text: str) -> list[Event]:
        """Read more text."""
        self.text = self.text[self.at :] + text
        self.at = 0
        next(self._run)
        return self._drain()

    def finish(self, reason: Finish) -> list[Event]:
        """Read what is left, knowing that no more comes."""
        self.eof = True
        self._finish = reason
        next(self._run, None)
        return self._drain()

    @property
    def cut(self) -> bool:
        """The output ended because of a limit, not because the model was done."""
        return self._finish != "stop"

    def _output(self) -> Reading[None]:
        yield
        if self.request.reasoning_open and self._fence:
            yield from self._reasoning()
        while (hit := (yield from self._talk(self._prose()))).action is not None:
            yield from self._sign(hit)
        if self._spoken or not self._marked:
            self._release()

    def _prose(self) -> Scan[Sign]:
        return self.layout.prose(calls=self._calls, fence=self._fence, late=self._late, inside=self._inside)

    def _sign(self, hit: Hit[Sign]) -> Reading[None]:
        match hit.action:
            case Opening() as opening:
                yield from self._attempt(hit, opening)
            case FenceOpen() if not self._spoken:
                self._mark(hit.end)
                yield from self._reasoning()
            case Late():
                self._mark(hit.end)
                self._late = ()
            case Trailer():
                yield from self._trailer(hit)
            case _:
                self._say(self._slice(hit.end))

    def _talk(self, scan: Scan[Sign]) -> Reading[Hit[Sign]]:
        """Say what comes, up to a marker (the hit's action) or the end of the output (no action)."""
        while True:
            hit = scan.find(self.text, self.at, eof=self.eof)
            self._say(self._slice(hit.start))
            if hit.action is not None or self.eof:
                return hit
            yield

    def _reasoning(self) -> Reading[None]:
        again = self.layout.form.reasoning.again  # type: ignore[union-attr]  # only called when there is one
        self._fence = False
        yield from self._framing()
        self._turn("reasoning")
        while True:
            hit = yield from self._talk(self.layout.thought(calls=self._calls))
            if hit.action is None:
                self._release()
                break
            if isinstance(hit.action, FenceClose):
                self._mark(hit.end)
                self._turn("content")
                yield from self._framing()
                break
            assert isinstance(hit.action, Opening)
            if (yield from self._attempt(hit, hit.action)):
                break
        self._fence = again

    def _trailer(self, hit: Hit[Sign]) -> Reading[None]:
        """A spelling of the turn's end is one only where nothing but whitespace follows."""
        self._trail = []
        self.take(hit.end)
        yield from self.skip()
        if self.at < len(self.text):
            self._give_back(unparsed=False)
            return
        self._trail = None
        if not self._spoken:
            self._space.clear()
        self._marked = True

    # -- calls
    # -----------------------------------------------------------------------------------------------------------

    def _attempt(self, hit: Hit[Sign], opening: Opening) -> Reading[bool]:
        """Read calls from their opener on. Whether there was one; if not, its text has been said."""
        dialect = opening.dialect
        section = opening.section or self._inside is dialect
        more, found = opening.section, False
        self._trail = []
        self.take(hit.end)
        while True:
            try:
                yield from self._enter(opening.tail, dialect if more else None)
                yield from self._one(dialect)
            except Failed:
                self._fail()
                return found
            found = True
            more = section and (yield from self._another(dialect))
            if not more:
                return found

    def _enter(self, tail: str, dialect: Calls | None) -> Reading[None]:
        """What stands between an opener and the call's body: with ``dialect``, the call's own opener."""
        self._markers = len(self._trail or ())
        yield from self.gap(tail)
        if dialect is None or "" in dialect.call.open:
            return
        if self.layout.exact:
            yield from self.literal(dialect.call.open[0])
            return
        if not (yield from self.match(dialect.call.open)) and not dialect.call.optional:
            raise Failed
        self._markers = len(self._trail or ())
        yield from self.skip()

    def _one(self, dialect: Calls) -> Reading[None]:
        self._named = self._own = None
        self._rest = []
        try:
            yield from dialect.body.read(self)
            yield from self._closer(dialect)
        except Broken:
            yield from self._wreck(dialect)
        except Cut:
            self._cut()
        self._end()

    def _cut(self) -> None:
        """The output ended inside a call."""
        if self._call is None:
            if self._named is None or not self.cut:
                raise Failed
            self.begin()
        assert self._call is not None
        self.rest(self.take(len(self.text)))
        self._call.truncated = self.cut
        if not self.cut and not (self._call.complete and self.repaired("missing_closer")):
            self._call.malformed = True

    def _closer(self, dialect: Calls) -> Reading[None]:
        closers = dialect.call.close
        if closers == ("",):
            return
        if self.layout.exact:
            yield from self.literal(closers[0])
            return
        self._trail = []
        yield from self.skip()
        while self.text.startswith("}", self.at):  # braces that close nothing, as small models write them
            self.take(self.at + 1)
            self.rest("".join(self._trail))
            self.repaired("extra_braces")
            self._trail.clear()
            yield from self.skip()
        closed = yield from self.match(closers)
        space, self._trail = self._trail, None
        if closed:
            return
        if self.at == len(self.text):
            raise Cut
        self.repaired("missing_closer")
        self._space, self._late = space, closers

    def _wreck(self, dialect: Calls) -> Reading[None]:
        """After a break, everything up to a marker that can end the call belongs to it."""
        assert self._call is not None
        self._call.malformed = True
        while True:
            hit = self.layout.enders.find(self.text, self.at, eof=self.eof)
            self.rest(self.take(hit.start))
            if hit.end >= 0:
                yield from self.match(dialect.call.close)
                return
            if self.eof:
                self._call.truncated = self.cut
                return
            yield

    def _another(self, dialect: Calls) -> Reading[bool]:
        """In a section after a call: whether another call follows."""
        assert dialect.section is not None
        self._trail = []
        yield from self.skip()
        if (yield from self.match(dialect.section.close)):
            self._trail, self._inside = None, None
            self._mark(self.at)
            return False
        if (yield from self.match((dialect.separator,))):
            return True
        if "" in dialect.call.open:
            return self.text.startswith(dialect.body.first, self.at)
        if (yield from self.match(dialect.call.open, take=False)):
            return True
        self._inside = dialect
        self._give_back(unparsed=False)
        return False

    def _fail(self) -> None:
        """The attempt is no call: its text is content. But a complete marker at the cut is a marker."""
        trail = self._trail or []
        if self.cut and self.at == len(self.text) and not "".join(trail[self._markers :]).strip(WHITESPACE):
            self._trail = None
            self._mark(self.at)
        else:
            self._give_back(unparsed=True)

    def _give_back(self, *, unparsed: bool) -> None:
        text, self._trail = "".join(self._trail or ()), None
        self._flush()
        self._unparsed = unparsed
        self._say(text)
        self._flush()
        self._unparsed = False

    # -- what bodies use
    # -------------------------------------------------------------------------------------------------

    def more(self) -> Reading[None]:
        """Wait for more text. Raises Cut when none comes."""
        if self.eof:
            raise Cut
        yield

    def peek(self) -> Reading[str]:
        """The next character, without reading it. Raises Cut when none comes."""
        while self.at == len(self.text):
            yield from self.more()
        return self.text[self.at]

    def take(self, end: int) -> str:
        """Read up to ``end``."""
        piece = self._slice(end)
        if self._trail is not None and piece:
            self._trail.append(piece)
        return piece

    def skip(self) -> Reading[None]:
        """Read whitespace, as much as comes; the end of the output is no error."""
        while True:
            self.take(reach(SPACES, self.text, self.at))
            if self.at < len(self.text) or self.eof:
                return
            yield

    def gap(self, canonical: str) -> Reading[None]:
        """Read whitespace where the format writes ``canonical``. Raises Failed or Broken when it must be that and is
        not.
        """
        if self.layout.exact:
            yield from self.literal(canonical)
        else:
            yield from self.skip()

    def literal(self, text: str) -> Reading[None]:
        """Read exactly ``text``. Raises Failed, or Broken after the call was announced."""
        while not self.text.startswith(text, self.at):
            if not text.startswith(self.text[self.at : self.at + len(text)]):
                raise self.wrong()
            yield from self.more()
        self.take(self.at + len(text))

    def match(self, spellings: tuple[str, ...], *, take: bool = True) -> Reading[bool]:
        """Read one of ``spellings`` (or with ``take`` false, only look). Whether there was one."""
        scan = self.layout.markers(spellings)
        while scan:
            hit = scan.at(self.text, self.at, eof=self.eof)
            if hit.end != PARTIAL:
                self.take(hit.end if take and hit.end >= 0 else self.at)
                return hit.end >= 0
            yield
        return False

    def wrong(self) -> Failed | Broken:
        """What to raise when the text is not of the format."""
        return Failed() if self._call is None else Broken()

    def named(self, name: str) -> None:
        """The call's name is known. Raises Failed when such a call is to be content."""
        if not name or (name not in self._names and self.request.unknown_tools == "content"):
            raise Failed
        self._named = self.layout.binding.expand(name)

    def identified(self, own: str) -> None:
        """The id that the model wrote is known."""
        self._own = own

    def begin(self) -> None:
        """Announce the call: its name and the first of its arguments, or its end, are known."""
        assert self._named is not None
        self._trail, self._late = None, ()
        self._space.clear()
        self._turn("content")
        self._flush()
        self._call = _Open(self._count, self._named)
        number = self.request.earlier_calls + self._count
        self._events.append(
            CallStart(self._count, self.layout.form.ids.make(self._named, number, self._own), self._named)
        )
        self._count += 1

    def arguments(self, text: str) -> None:
        """More of the announced call's arguments."""
        assert self._call is not None
        text = self.layout.binding.expand(text)
        if text:
            self._call.pieces.append(text)
            self._events.append(ArgumentsDelta(self._call.index, text))

    def rest(self, text: str) -> None:
        """Text inside the call's frame that is neither name nor arguments."""
        self._rest.append(text)

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

    # -- channels
    # --------------------------------------------------------------------------------------------------------

    def _slice(self, end: int) -> str:
        piece = self.text[self.at : end]
        self.at = end
        return piece

    def _say(self, text: str) -> None:
        """Text of the current channel; whitespace at its end waits until it is known whether it is framing."""
        said = text.rstrip(WHITESPACE)
        if said:
            self._release()
            self._said.append(said)
            self._spoken = True
            self._fence = self._fence and self._channel != "content"
        if len(said) < len(text):
            self._space.append(text[len(said) :])

    def _release(self) -> None:
        self._said += self._space
        self._space.clear()

    def _mark(self, end: int) -> None:
        """Read a marker: whitespace between it and the marker or edge before is framing."""
        self._slice(end)
        if self._spoken and self._channel == "content":
            self._release()
        self._space.clear()
        self._spoken = False
        self._marked = True

    def _framing(self) -> Reading[None]:
        """Whitespace inside and just after a reasoning fence."""
        yield from self.skip()
        self._space.clear()

    def _turn(self, channel: Literal["content", "reasoning"]) -> None:
        if channel != self._channel:
            self._flush()
            self._channel = channel

    def _flush(self) -> None:
        text = self.layout.binding.expand("".join(self._said))
        self._said.clear()
        if text:
            delta = ContentDelta(text, self._unparsed) if self._channel == "content" else ReasoningDelta(text)
            self._events.append(delta)

    def _drain(self) -> list[Event]:
        if self._said:
            self._flush()
        events, self._events = self._events, []
        return events

    def _end(self) -> None:
        """The announced call is over."""
        call = self._call
        assert call is not None
        outcome = self._outcome(call, "".join(call.pieces))
        rest = self.layout.binding.expand("".join(self._rest))
        self._events.append(CallEnd(call.index, outcome, tuple(call.repairs), rest))
        self._call = None
        self._spoken = False
        self._marked = True
        self._fence = self.layout.form.reasoning is not None and self.layout.form.reasoning.again

    def _outcome(self, call: _Open, arguments: str) -> Outcome:
        if call.truncated:
            return "truncated"
        if call.malformed:
            return "malformed"
        return self._validator.outcome(call.name, arguments)
