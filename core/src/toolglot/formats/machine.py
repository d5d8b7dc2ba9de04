"""The machine that reads one output, whatever its format: reasoning, text, and calls in their frames.

Until a call is certain its text is kept, so that it can be given back as content. It is certain when its name and the
first of its arguments, or its end, are known; from then on nothing is taken back. What must be held back is bounded: a
marker, a name, whitespace before a marker.
"""

from __future__ import annotations

from collections import Counter

from toolglot.events import Event, Finish
from toolglot.formats.call_cursor import CallCursor
from toolglot.formats.cursor import Broken, Cut, Failed, Reading, Stopped
from toolglot.formats.declaration import Calls
from toolglot.formats.layout import (
    Answer,
    Between,
    FenceClose,
    FenceOpen,
    Late,
    Layout,
    Opening,
    Sign,
    Trailer,
    unbracketed,
)
from toolglot.formats.markers import NO, PARTIAL, SPACES, WHITESPACE, Hit, Scan, reach
from toolglot.requests import Request
from toolglot.validation import Validator


class Machine(CallCursor):
    """Reads one output. :meth:`feed` and :meth:`finish` return what has become certain."""

    def __init__(self, layout: Layout, request: Request, validator: Validator) -> None:
        super().__init__(layout, request, validator)
        self._calls = request.calls_allowed
        self._inside: Calls | None = None  # the dialect whose section is still open
        self._quoted: Counter[str] = Counter()  # closers of answers that will be text, as their openers were
        self._wrecked = False  # the call broke, and ended at a marker
        self._markers = 0  # how many pieces of the trail are markers
        self._run = self._output()
        next(self._run)

    # -- the whole output

    def feed(self, text: str) -> list[Event]:
        """Read more text."""
        self.extend(text)
        next(self._run)
        return self._out.drain()

    def finish(self, reason: Finish) -> list[Event]:
        """Read what is left, knowing that no more comes."""
        self.eof = True
        self._finish = reason
        next(self._run, None)
        return self._out.drain()

    def _output(self) -> Reading[None]:
        yield
        reasoning = self.layout.form.reasoning
        if self.request.reasoning_open and reasoning:
            yield from self._reasoning(reasoning.fence.close)
        yield from self._part()
        while (hit := (yield from self._talk(self._prose()))).action is not None:
            yield from self._sign(hit)
        self._out.close()

    def _prose(self) -> Scan[Sign]:
        start = not self._out.spoken and not self._count
        return self.layout.prose(
            calls=self._calls,
            start=start,
            fence=self._fence and not self._out.spoken,
            late=self._late,
            inside=self._inside,
        )

    def _sign(self, hit: Hit[Sign]) -> Reading[None]:
        match hit.action:
            case Opening() as opening if self._may_begin(opening):
                yield from self._attempt(hit, opening)
            case FenceOpen(closers) if not self._out.spoken:
                self._mark(hit.end)
                yield from self._reasoning(closers)
                yield from self._part()
            case Late(section):
                self._mark(hit.end)
                self._late = ()
                self._inside = None if section else self._inside
            case Answer(opens, closer):
                yield from self._answer(hit.end, closer, opens=opens)
            case Between():
                self._out.drop()
                self._mark(hit.end)
                yield from self._part()
            case Trailer():
                yield from self._trailer(hit)
            case _:
                self._out.say(self.slice(hit.end))

    def _answer(self, end: int, closer: str, *, opens: bool) -> Reading[None]:
        """A marker around an answer; in the middle of one it is text, and so is the closer that belongs to it."""
        if opens and self._out.spoken:
            self._quoted[closer] += 1
            self._out.say(self.slice(end))
        elif not opens and self._quoted[closer]:
            self._quoted[closer] -= 1
            self._out.say(self.slice(end))
        else:
            self._out.drop()
            self._mark(end)
            yield from self._framing()

    def _may_begin(self, opening: Opening) -> bool:
        """Whether calls may begin here: text may have been said since the scan for their opener was chosen."""
        return not opening.bare or self.layout.form.begins == "anywhere" or not self._out.spoken

    def _talk(self, scan: Scan[Sign]) -> Reading[Hit[Sign]]:
        """Say what comes, up to a marker (the hit's action) or the end of the output (no action)."""
        while True:
            hit = scan.find(self.text, self.at, eof=self.eof)
            if hit.action is None and self.eof:
                self._half(scan)
            self._out.say(self.slice(hit.start))
            if hit.action is not None or self.eof:
                return hit
            yield

    def _half(self, scan: Scan[Sign]) -> None:
        """At the end of a turn of messages: half a header is no text, if the output was cut there or no text goes
        before it.
        """
        half = scan.find(self.text, self.at, eof=False)
        self._out.say(self.slice(half.start))
        if half.end == PARTIAL and self.layout.form.between and (self.cut or self._out.at_marker):
            self._mark(len(self.text))

    def _part(self) -> Reading[None]:
        """Where a part of the turn begins: a call without an opener, whose header shows it."""
        dialects = self.layout.headless if self._calls else ()
        while dialects:
            if not self.layout.exact:  # there it is the header's
                self._out.say(self.slice(reach(SPACES, self.text, self.at)))
            ends = [self._headed(dialect) for dialect in dialects]
            if max(ends) >= 0:
                opening = Opening(dialects[ends.index(max(ends))], section=False, tail="", bare=False, taken=False)
                yield from self._attempt(Hit(self.at, self.at, opening), opening)
            elif PARTIAL in ends and not self.eof:
                yield
                continue
            return

    def _headed(self, dialect: Calls) -> int:
        """Where a header of ``dialect`` ends that stands here, unless another marker does: else PARTIAL or NO."""
        sign = self._prose().at(self.text, reach(SPACES, self.text, self.at), eof=self.eof)
        if sign.end != NO:
            return PARTIAL if sign.end == PARTIAL else NO
        templates = self.layout.templates(dialect.body.heads, "")
        ends = [template.match(self.text, self.at, eof=self.eof).end for template in templates]
        return max(ends) if max(ends) >= 0 else min(ends)

    def _reasoning(self, closers: tuple[str, ...]) -> Reading[None]:
        self._fence = False
        yield from self._framing()
        self._out.turn("reasoning")
        while True:
            hit = yield from self._talk(self.layout.thought(calls=self._calls, closers=closers))
            if hit.action is None:
                self._out.release()
                break
            if isinstance(hit.action, FenceClose):
                self._mark(hit.end)
                self._out.turn("content")
                yield from self._framing()
                break
            assert isinstance(hit.action, Opening)
            if (yield from self._attempt(hit, hit.action)):
                break
        self._fence = self._again

    def _trailer(self, hit: Hit[Sign]) -> Reading[None]:
        """A spelling of the turn's end is one only where nothing but whitespace follows."""
        self.trail = []
        self.take(hit.end)
        yield from self.skip()
        if self.at < len(self.text):
            self._out.say(self._give_back())
            return
        self.trail = None
        self._out.mark()

    # -- calls

    def _attempt(self, hit: Hit[Sign], opening: Opening) -> Reading[bool]:
        """Read calls from their opener on. Whether there was one; if not, its text has been said."""
        dialect = opening.dialect
        section = opening.section or self._inside is dialect
        more, found = opening.section, False
        tail: str | None = opening.tail
        self.trail, self._named = [], None
        self._bare = opening.bare
        self.take(hit.end if opening.taken else hit.start)
        while True:
            try:
                yield from self._enter(tail, dialect if more else None)
                if opening.others:
                    dialect = yield from self._told_apart((opening.dialect, *opening.others))
                yield from self._one(dialect)
            except (Failed, Cut):
                self._fail()
                return found
            found, tail = True, None
            more = section and (yield from self._another(dialect))
            if not more:
                return found

    def _enter(self, tail: str | None, dialect: Calls | None) -> Reading[None]:
        """What stands between an opener and the call's body: with ``dialect``, the call's own opener.

        ``tail`` is the canonical whitespace first; None after another call, which decides it.
        """
        self._markers = len(self.trail or ()) if not self._bare else 0
        if tail is None:
            yield from self.skip()
        else:
            yield from self.gap(tail)
        if dialect is None or "" in dialect.call.open:
            return
        if self.layout.exact:
            yield from self.literal(dialect.call.open[0])
            return
        if not (yield from self.match(dialect.call.open)) and not dialect.call.optional:
            raise Failed
        self._markers = len(self.trail or ())
        yield from self.skip()

    def _told_apart(self, dialects: tuple[Calls, ...]) -> Reading[Calls]:
        """The dialect whose call begins as the text goes on."""
        char = yield from self.peek()
        return next((one for one in dialects if one.body.first == char), min(dialects, key=lambda one: one.body.first))

    def _one(self, dialect: Calls) -> Reading[None]:
        self._named = self._own = None
        self._rest, self._behind = [], []
        self._wrecked = False
        try:
            yield from dialect.body.read(self)
            yield from self._closer(dialect)
        except Broken:
            self.rest(self._give_back())
            yield from self._wreck(dialect)
        except Stopped:
            self.malformed()
            self._end()
            self._out.say_unparsed(self._give_back())
            return
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
        self.rest("".join(self.trail or ()) + self.slice(len(self.text)))
        self.trail = None
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
        self.trail = []
        yield from self.skip()
        closed = yield from self.match(closers)
        while not closed and self.text.startswith("}", self.at):  # braces that close nothing, as models write
            self.take(self.at + 1)
            self.rest("".join(self.trail))
            self.repaired("extra_braces")
            self.trail.clear()
            yield from self.skip()
            closed = yield from self.match(closers)
        space, self.trail = self.trail, None
        if closed:
            return
        if self.at == len(self.text) or self.layout.markers(closers).at(self.text, self.at, eof=False).end == PARTIAL:
            raise Cut
        self.repaired("missing_closer")
        self._late, self._behind = closers, space

    def _wreck(self, dialect: Calls) -> Reading[None]:
        """After a break, everything up to a marker that can end the call belongs to it."""
        assert self._call is not None
        self._wrecked, junk = True, False
        while True:
            hit = self.layout.enders.find(self.text, self.at, eof=self.eof)
            junk |= hit.start > self.at
            self.rest(self.take(hit.start))
            if hit.end >= 0:
                yield from self.match(dialect.call.close)
                break
            if self.eof:
                self._call.truncated = self.cut
                break
            yield
        if junk or not (self._call.complete and self.repaired("missing_closer")):
            self._call.malformed = True

    def _another(self, dialect: Calls) -> Reading[bool]:
        """In a section after a call: whether another call follows."""
        assert dialect.section is not None
        self.trail = []
        yield from self.skip()
        closers = dialect.section.close
        closers += tuple(map(unbracketed, closers)) if self._wrecked else ()
        if (yield from self.match(closers)):
            self.trail, self._inside = None, None
            self._mark(self.at)
            return False
        if (yield from self.match((dialect.separator,))):
            return True
        if "" in dialect.call.open:
            if self.text.startswith(dialect.body.first, self.at) and self.at < len(self.text):
                return True
        elif (yield from self.match(dialect.call.open, take=False)):
            return True
        else:
            self._inside = dialect
        self._out.say(self._give_back())
        return False

    def _fail(self) -> None:
        """The attempt is no call: its text is content. But a complete marker at the cut is a marker."""
        trail = self.trail or []
        if self.cut and self.at == len(self.text) and not "".join(trail[self._markers :]).strip(WHITESPACE):
            self.trail = None
            self._mark(self.at)
        elif self._bare and self._named is None:  # ordinary text, since no offered tool is named
            self._out.say(self._give_back())
        else:
            self._out.say_unparsed(self._give_back())

    def _give_back(self) -> str:
        text, self.trail = "".join(self.trail or ()), None
        return text

    def _mark(self, end: int) -> None:
        self.slice(end)
        self._out.mark()

    def _framing(self) -> Reading[None]:
        """Whitespace inside and just after a reasoning fence."""
        yield from self.skip()
        self._out.drop()
