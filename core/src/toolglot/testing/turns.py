"""Turns: outputs put together from known pieces, so that one knows what must come out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from toolglot.events import Call
from toolglot.formats import WireFormat
from toolglot.formats.layout import headless
from toolglot.testing.markers import WHITESPACE, Markers, begun, canonical, fence
from toolglot.testing.writer import Writer

Span = tuple[int, int]


class Turn(Struct, frozen=True):
    """An output, and what must be read in it."""

    text: str
    calls: tuple[Call, ...]
    spans: tuple[Span, ...]
    """Where each call begins and ends in ``text``, markers included."""
    content: str
    reasoning: str


def turn(writer: Writer, form: WireFormat, written_call: Callable[[], tuple[Call, str]]) -> Turn:
    """A turn of a format: reasoning, then prose around calls; ``written_call`` returns a random one and its text."""
    while True:
        most = 3 if form.begins == "anywhere" else 1
        found = _turn(writer, form, [written_call() for _ in range(writer.random.randint(0, most))])
        if found is not None:
            return found


def _turn(writer: Writer, form: WireFormat, written: Sequence[tuple[Call, str]]) -> Turn | None:
    """A turn with these calls, unless by chance pieces that meet make a marker, or half of one at the end, or the text
    between two calls is what separates them.
    """
    between = canonical(form.between) if any(map(headless, form.calls)) else ""
    spelled = [between + text for _, text in written]
    thought = writer.words() if form.reasoning and writer.random.random() < 0.4 else None
    thinking = "" if thought is None else _fenced(form, thought)
    prose = [writer.words() for _ in range(len(written) + 1)]
    if form.begins == "start" and written:
        prose[0] = ""
    text, spans = _joined(thinking, prose, spelled)
    markers = Markers.of(form)
    if len(markers.found(text)) != sum(len(markers.found(piece)) for piece in (thinking, *spelled)):
        return None
    if any(begun(marker, text) for marker in markers.headers):
        return None
    if any(between.strip(WHITESPACE) in markers.separators for between in prose[1:-1]):
        return None
    content = _content(text, (0, len(thinking)), spans)
    return Turn(text, tuple(call for call, _ in written), spans, content, (thought or "").strip(WHITESPACE))


def _fenced(form: WireFormat, thought: str) -> str:
    assert form.reasoning is not None
    opener, closer = fence(form.reasoning.fence)
    return opener + thought + closer


def _joined(thinking: str, prose: Sequence[str], spelled: Sequence[str]) -> tuple[str, tuple[Span, ...]]:
    """The text, and where the calls are in it without the whitespace around them."""
    text, spans = thinking + prose[0], []
    for call, after in zip(spelled, prose[1:], strict=True):
        core = call.strip(WHITESPACE)
        start = len(text) + call.find(core)
        spans.append((start, start + len(core)))
        text += call + after
    return text, tuple(spans)


def _content(text: str, thinking: Span, spans: Sequence[Span]) -> str:
    """What stands outside the calls, without framing whitespace: see DESIGN, "Framing whitespace"."""
    ends = [thinking, *spans]
    starts = [start for start, _ in spans] + [len(text)]
    gaps = [text[end:start] for (_, end), start in zip(ends, starts, strict=True)]
    if thinking[1]:
        gaps[0] = gaps[0].lstrip(WHITESPACE)
    before = [gap.rstrip(WHITESPACE) for gap in gaps[:-1]]
    alone = not spans and not thinking[1]  # then there is no marker that makes whitespace framing
    return "".join([*before, gaps[-1] if alone or gaps[-1].strip(WHITESPACE) else ""])
