"""Turns: outputs put together from known pieces, so that one knows what must come out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import assume, reject
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from msgspec import Struct

from toolglot.errors import RenderError
from toolglot.events import Call
from toolglot.formats import WireFormat
from toolglot.testing import strategies
from toolglot.testing.markers import WHITESPACE, Markers, fence

Span = tuple[int, int]


class Turn(Struct, frozen=True):
    """An output, and what must be read in it."""

    text: str
    calls: tuple[Call, ...]
    spans: tuple[Span, ...]
    """Where each call begins and ends in ``text``, markers included."""
    content: str
    reasoning: str


def turns(form: WireFormat, render: Callable[[Call, int], str]) -> SearchStrategy[Turn]:
    """Turns of a format: reasoning, then prose around calls. ``render`` writes a call as a seed chooses."""
    markers = Markers.of(form)
    prose = strategies.words(markers)
    thoughts = st.none() if form.reasoning is None else st.none() | prose

    @st.composite
    def turn(draw: st.DrawFn) -> Turn:
        calls = draw(st.lists(strategies.calls(markers), max_size=3))
        spelled = [_rendered(render, call, draw(st.integers(0, 2**32))) for call in calls]
        thought = draw(thoughts)
        thinking = "" if thought is None else _fenced(form, thought)
        text, spans = _joined(thinking, [draw(prose) for _ in range(len(calls) + 1)], spelled)
        assume(len(markers.found(text)) == sum(len(markers.found(one)) for one in (thinking, *spelled)))
        content = _content(text, (0, len(thinking)), spans)
        return Turn(text, tuple(calls), spans, content, (thought or "").strip(WHITESPACE))

    return turn()


def _rendered(render: Callable[[Call, int], str], call: Call, seed: int) -> str:
    try:
        return render(call, seed)
    except RenderError:
        reject()


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
