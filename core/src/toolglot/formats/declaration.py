"""The vocabulary in which a wire format is declared: frozen data, from which grammar, reader and renderer are derived.

A marker is written as its text. Whitespace in it is canonical for the renderer and the grammar, and lenient for the
reader, which takes any run of whitespace there, also none; ``~`` is whitespace allowed, none written.
"""

from __future__ import annotations

import secrets
import string
from collections.abc import Sequence
from typing import Literal, Protocol

from msgspec import Struct
from msgspec.structs import replace

from toolglot.formats.body import Body
from toolglot.requests import StrictLevel


class Frame(Struct, frozen=True):
    """Markers around a section, a call or a channel. The first spelling is canonical; the others are only read."""

    open: tuple[str, ...] = ("",)
    close: tuple[str, ...] = ("",)
    optional: bool = False
    """The reader also accepts the inside without this frame."""


class Calls(Struct, frozen=True):
    """One dialect: a complete spelling of a list of calls."""

    body: Body
    call: Frame = Frame()
    section: Frame | None = None
    separator: str = ""
    """Between two calls."""
    single: bool = False
    """The model writes one call only; the grammar allows no second."""


class Reasoning(Struct, frozen=True):
    """The channel in which a model thinks."""

    fence: Frame = Frame(("<think>\n",), ("\n</think>\n\n",))
    """As many closers as openers are pairs; otherwise any closer closes."""
    call_ends: bool = False
    """The opener of a call inside ends the reasoning; otherwise it is reasoning text."""
    again: bool = False
    """It may open again after a call."""


class Ids(Protocol):
    """How a call's id is made. ``number`` counts the calls of the whole conversation from 0, ``own`` is the id that
    the model wrote.
    """

    def make(self, name: str, number: int, own: str | None) -> str: ...


class RandomIds(Struct, frozen=True):
    """``call_`` and 24 random hexadecimal digits."""

    def make(self, name: str, number: int, own: str | None) -> str:  # noqa: ARG002  # other kinds of id need them
        return f"call_{secrets.token_hex(12)}"


class TemplateIds(Struct, frozen=True):
    """Made from the name and the number: ``functions.{name}:{index}``."""

    template: str

    def make(self, name: str, number: int, own: str | None) -> str:  # noqa: ARG002  # as above
        return self.template.format(name=name, index=number)


class AlphanumericIds(Struct, frozen=True):
    """``length`` random letters and digits; the model's own id where it is of that form."""

    length: int = 9

    def make(self, name: str, number: int, own: str | None) -> str:  # noqa: ARG002  # as above
        if own is not None and len(own) == self.length and own.isascii() and own.isalnum():
            return own
        return "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(self.length))


class OwnIds(Struct, frozen=True):
    """The id that the model wrote, else a random one."""

    def make(self, name: str, number: int, own: str | None) -> str:
        return own or RandomIds().make(name, number, own)


class WireFormat(Struct, frozen=True):
    """How a model family writes reasoning and tool calls."""

    calls: tuple[Calls, ...]
    """The dialects: the first is written and constrained, all are read."""
    reasoning: Reasoning | None = None
    content: Frame | None = None
    """What stands around plain answers, where a family has that."""
    between: str = ""
    """Between the parts of a turn (reasoning, answers, calls), where a family writes each as a message of its own."""
    ids: Ids = RandomIds()
    begins: Literal["anywhere", "start"] = "anywhere"
    """Where calls may begin whose opener could be ordinary text, as ``{`` and ``[`` could."""
    trailer: tuple[str, ...] = ()
    """Spellings of the turn's end that may stand as text at the very end of the output."""
    strict_level: StrictLevel | None = None
    """How much the model's makers constrain at the least, where they recommend it."""


def exactly(form: WireFormat) -> WireFormat:
    """The part of a format that its grammar writes: the first dialect in its canonical spelling."""
    first = form.calls[0]
    section = _canonical(first.section) if first.section else None
    calls = (replace(first, body=first.body.exactly(), call=_canonical(first.call), section=section),)
    reasoning = form.reasoning and replace(form.reasoning, fence=_canonical(form.reasoning.fence))
    return replace(form, calls=calls, reasoning=reasoning, between=form.between.replace("~", ""))


def _canonical(frame: Frame) -> Frame:
    return Frame((frame.open[0].replace("~", ""),), (frame.close[0].replace("~", ""),))


def spellings(frames: Sequence[Frame]) -> set[str]:
    """Every opening and closing spelling of ``frames`` that is not empty."""
    return {marker for frame in frames for marker in (*frame.open, *frame.close) if marker}
