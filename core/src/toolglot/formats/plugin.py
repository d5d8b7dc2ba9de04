"""A parser plugin made from a declaration: it implements all four hooks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, cached_property
from typing import Any, Literal, Self

from msgspec.structs import replace

from toolglot.events import Call, Event, Message, MessageBuilder
from toolglot.formats.binding import Binding
from toolglot.formats.body import Freedom
from toolglot.formats.declaration import Reasoning, WireFormat
from toolglot.formats.layout import Layout
from toolglot.formats.machine import Machine
from toolglot.formats.markers import core
from toolglot.formats.rendering import render
from toolglot.formats.tags import structural_tag
from toolglot.hookspecs import hookimpl
from toolglot.requests import Delta, Output, Request, State, StrictLevel, Tool
from toolglot.structural_tag import StructuralTag
from toolglot.validation import Validator
from toolglot.vocabulary import added_tokens

FormatOf = Callable[[Any], WireFormat]
"""Makes the format for a tokenizer (None: unknown), where it depends on it."""


class WireFormatParser:
    """Reads, constrains and renders one wire format.

    ``form`` is the declaration, or a function that makes it for a tokenizer. ``architectures`` are the models that
    write it, as their configs say (``architectures``, ``model_type``): they decide where markers alone do not.
    """

    def __init__(
        self, form: WireFormat | FormatOf, *, tokenizer: Any = None, architectures: Iterable[str] = ()
    ) -> None:
        self._form = form
        self.architectures = frozenset(architectures)
        self._tokenizer = tokenizer
        self._layout = cache(self._new_layout)

    def configured(self, tokenizer: Any, **changes: Reasoning | None) -> Self:
        """The same parser for a tokenizer, and with another ``reasoning`` channel where one is given."""
        form = self._form(tokenizer) if callable(self._form) else self._form
        return type(self)(replace(form, **changes), tokenizer=tokenizer, architectures=self.architectures)

    @cached_property
    def form(self) -> WireFormat:
        """The declaration."""
        return self._form(self._tokenizer) if callable(self._form) else self._form

    @cached_property
    def binding(self) -> Binding:
        """The markers that are tokens of the tokenizer."""
        decoder = self._tokenizer if hasattr(self._tokenizer, "decode") else None
        return Binding(self.form, added_tokens(self._tokenizer), decoder)

    @property
    def strict_level(self) -> StrictLevel | None:
        """How much the model's makers constrain at the least, where they recommend it."""
        return self.form.strict_level

    @property
    def marker_ids(self) -> frozenset[int]:
        """The ids of the tokens that are markers."""
        return self.binding.token_ids

    @hookimpl
    def adjust_request(self, request: Request) -> Request | None:
        calls = sum(len(message.get("tool_calls") or ()) for message in request.messages)
        return replace(request, earlier_calls=calls) if calls else None

    @hookimpl
    def get_structural_tag(self, request: Request) -> StructuralTag | None:
        return structural_tag(self.form, self.binding, request)

    @hookimpl
    def extract_tool_calls(self, output: Output, request: Request) -> Message | None:
        whole = Delta(output.text, output.token_ids, output.marks, output.finish)
        session = _Session(self, whole, request)
        builder = MessageBuilder()
        for event in session.read(whole):
            builder.add(event)
        builder.validated = session.validator.checked
        return builder.message()

    @hookimpl
    def extract_tool_calls_streaming(self, delta: Delta, state: State, request: Request) -> Sequence[Event] | None:
        session = state.of(self, lambda: _Session(self, delta, request))
        events = session.read(delta)
        state.validated(session.validator.checked)
        return events

    def render(self, calls: Iterable[Call], *, tools: Iterable[Tool] = (), vary: int | None = None) -> str:
        """Write calls as the model would; ``vary`` seeds other ways that are read alike. Raises RenderError."""
        return render(self.form, list(calls), tuple(tools), None if vary is None else Freedom(vary))

    def prompt_reasoning(self, prompt: str) -> Literal["open", "closed", "absent"]:
        """Whether the prompt ends with the reasoning opened, or opened and closed again, or neither."""
        if self.form.reasoning is None:
            return "absent"
        fence = self.form.reasoning.fence
        end = prompt.rstrip()
        if any(opener and end.endswith(opener) for opener in map(core, fence.open)):
            return "open"
        return "closed" if any(closer and end.endswith(closer) for closer in map(core, fence.close)) else "absent"

    def reasons_in(self, text: str) -> bool:
        """Whether ``text`` (a chat template) mentions the reasoning's fence: then the model reasons."""
        reasoning = self.form.reasoning
        return reasoning is not None and any(closer in text for closer in map(core, reasoning.fence.close))

    def layout(self, *, bound: bool, exact: bool) -> Layout:
        """The format ready for reading: with marker tokens (``bound``) or text, leniently or exactly."""
        return self._layout(bound, exact)

    def _new_layout(self, bound: bool, exact: bool) -> Layout:  # a cache key
        return Layout(self.form, self.binding if bound else Binding(self.form, {}), exact=exact)


class _Session:
    """The reading of one output. Whether markers are tokens in it shows in its first delta."""

    def __init__(self, parser: WireFormatParser, first: Delta, request: Request) -> None:
        bound = bool(first.token_ids or first.marks) and bool(parser.binding)
        self._binding = parser.binding if bound else None
        self.validator = Validator(request.tools)
        self._machine = Machine(parser.layout(bound=bound, exact=request.constrained), request, self.validator)

    def read(self, delta: Delta) -> list[Event]:
        text = delta.text
        if self._binding:
            text = self._binding.text(text, delta.token_ids, delta.marks)
        events = self._machine.feed(text) if text else []
        return events if delta.finish is None else events + self._machine.finish(delta.finish)
