"""Writing calls: canonically, or in any way that the reader grants."""

from __future__ import annotations

from collections.abc import Sequence

from toolglot.errors import RenderError
from toolglot.events import Call
from toolglot.formats.body import Freedom
from toolglot.formats.declaration import Calls, Frame, WireFormat
from toolglot.formats.layout import distinct, headless
from toolglot.formats.markers import GAP, PIECES
from toolglot.requests import Tool

_SPACE = ("", "", "\n", " ", "\n\n", "\t ")


def render(form: WireFormat, calls: Sequence[Call], tools: Sequence[Tool], vary: Freedom | None) -> str:
    """The text of ``calls``; empty without calls.

    Raises:
        RenderError: a call holds a value that the format cannot express.
    """
    if not calls:
        return ""
    *others, last = vary.sample(form.calls, len(form.calls)) if vary else form.calls[:1]
    for dialect in others:
        try:
            return _written(form, dialect, calls, tools, vary)
        except RenderError:  # another dialect may express it
            continue
    return _written(form, last, calls, tools, vary)


def _written(
    form: WireFormat, dialect: Calls, calls: Sequence[Call], tools: Sequence[Tool], vary: Freedom | None
) -> str:
    known = {tool.name: tool for tool in tools}
    bodies = []
    for index, call in enumerate(calls):
        if vary:
            vary.bare = _bare(dialect) and not (index and dialect.section)
        bodies.append(_framed(dialect.call, dialect.body.render(call, index, known.get(call.name), vary), vary))
    text = _spelled(dialect.separator + form.between, vary).join(bodies)
    return text if dialect.section is None else _framed(dialect.section, text, vary)


def _bare(dialect: Calls) -> bool:
    """Whether the opener of the first call, as this dialect may write it, could be ordinary text."""
    if headless(dialect):
        return False
    for frame in (dialect.section, dialect.call):
        if frame and not all(map(distinct, frame.open)):
            return True
        if frame and not frame.optional:
            return False
    return True


def _framed(frame: Frame, inside: str, vary: Freedom | None) -> str:
    if vary is None:
        return _canonical(frame.open[0]) + inside + _canonical(frame.close[0])
    if frame.optional and vary.random() < 0.3:
        return inside
    return _spelled(vary.choice(frame.open), vary) + inside + _spelled(vary.choice(frame.close), vary)


def _canonical(spelling: str) -> str:
    return spelling.replace("~", "")


def _spelled(spelling: str, vary: Freedom | None) -> str:
    """A marker with its canonical whitespace, or with other whitespace in its place."""
    if vary is None:
        return _canonical(spelling)
    pieces = PIECES.findall(spelling)
    return "".join(vary.choice(_SPACE) if piece[0] in GAP else piece for piece in pieces)
