"""What a format lets the model write, for one request: the structural tag, derived from the declaration.

Calls are written in the first dialect, in its canonical spelling. Where a marker is a token it is named by id, so
that nothing else spells it; other added tokens occur nowhere. Free text, and reasoning, exclude what would open a
call where none may begin.
"""

from __future__ import annotations

from collections.abc import Sequence as Series

from msgspec import Struct
from msgspec.structs import replace

from toolglot.formats.binding import Binding
from toolglot.formats.declaration import Calls, Reasoning, WireFormat
from toolglot.formats.layout import distinct
from toolglot.formats.markers import Marker
from toolglot.requests import Named, Request, Tool
from toolglot.structural_tag import (
    AnyText,
    ConstString,
    Format,
    Optional,
    Or,
    Regex,
    Sequence,
    StructuralTag,
    Tag,
    TagsWithSeparator,
    Token,
    TokenTriggeredTags,
    TriggeredTags,
)

_AFTER_REASONING = Regex(r"\n{0,2}")
_AT_THE_END = Regex(r"[ \n]{0,2}")
"""Models like to end a turn with a newline; forbidding it would push them into another call."""
_ANY_OBJECT = {"type": "object", "additionalProperties": True}
_NOTHING = {"type": "object", "properties": {}, "additionalProperties": False}


def structural_tag(form: WireFormat, binding: Binding, request: Request) -> StructuralTag | None:
    """The grammar of the whole output, or None where nothing is to be constrained.

    Named and required calls always are, ``auto`` when a tool is strict, and ``none`` so that no call can begin.
    """
    if not request.tools or (request.tool_choice == "auto" and not any(tool.strict for tool in request.tools)):
        return None
    writer = _Writer(form, binding, request)
    if request.tool_choice == "none":
        return StructuralTag(writer.no_calls()) if writer.trigger else None
    if request.tool_choice == "auto":
        return StructuralTag(writer.free_calls()) if writer.trigger else None
    return StructuralTag(writer.only_calls())


class _Spelling(Struct, frozen=True):
    """A marker's canonical spelling: whitespace before, the marker as text or as a token, whitespace after."""

    lead: str
    text: str
    token: Token | None
    tail: str

    def after(self, text: str) -> str:
        """What ends ``text`` when the marker does not follow as a token."""
        return text + self.lead + ("" if self.token else self.text + self.tail)

    def before(self, text: str) -> str:
        """What begins ``text`` when the marker does not stand before as a token."""
        return ("" if self.token else self.lead + self.text) + self.tail + text

    @property
    def alone(self) -> Format:
        """The marker with its whitespace, on its own."""
        if self.token is None:
            return ConstString(self.lead + self.text + self.tail)
        return _joined(self.lead, self.token, self.tail)


class _Writer:
    def __init__(self, form: WireFormat, binding: Binding, request: Request) -> None:
        self._form = form
        self._binding = binding
        self._request = request
        self._dialect: Calls = form.calls[0]

    @property
    def trigger(self) -> _Spelling | None:
        """The marker that begins calls in free text; None where it could be ordinary text, as ``{`` could."""
        frame = self._dialect.section or self._dialect.call
        return self._spelling(frame.open[0]) if distinct(frame.open[0]) else None

    def no_calls(self) -> Format:
        """Reasoning and free text in which no call can begin."""
        return Sequence((*self._reasoning(), AnyText(self._excluded)))

    def only_calls(self) -> Format:
        """Reasoning, then one call or more, and nothing else."""
        return Sequence((*self._reasoning(), self._calls(self._tools), _AT_THE_END))

    def free_calls(self) -> Format:
        """Free text, in which the opener leads into calls."""
        trigger = self.trigger
        assert trigger is not None
        tags = self._tags(self._tools) if self._dialect.section is None else (self._section_tag(trigger),)
        one = self._dialect.section is not None or self._single
        if trigger.token is not None:
            free: Format = TokenTriggeredTags((trigger.token.token,), tags, stop_after_first=one)
        else:
            free = TriggeredTags((trigger.text,), tags, stop_after_first=one, excludes=self._fences)
        return Sequence((*self._reasoning(), free, *((_AT_THE_END,) if one else ())))

    @property
    def _tools(self) -> tuple[Tool, ...]:
        choice = self._request.tool_choice
        if isinstance(choice, Named):
            return tuple(_bounded(tool) for tool in self._request.tools if tool.name == choice.name)
        strict = choice == "required"
        return tuple(
            _bounded(tool) if strict or tool.strict else replace(tool, parameters=_ANY_OBJECT)
            for tool in self._request.tools
        )

    @property
    def _single(self) -> bool:
        named = isinstance(self._request.tool_choice, Named)
        return named or self._dialect.single or not self._request.parallel_tool_calls

    @property
    def _excluded(self) -> tuple[str, ...]:
        trigger = self.trigger
        return (trigger.text,) if trigger and trigger.token is None else ()

    @property
    def _fences(self) -> tuple[str, ...]:
        """Reasoning openers that free text must not spell: in what follows them the reader would see no call."""
        reasoning = self._form.reasoning
        if reasoning is None or reasoning.call_ends:
            return ()
        opener = self._spelling(reasoning.fence.open[0])
        return () if opener.token else (opener.text,)

    def _reasoning(self) -> tuple[Format, ...]:
        reasoning = self._form.reasoning
        if reasoning is None or not (self._request.reasoning_open or self._request.may_reason):
            return ()
        block = Sequence((self._thought(reasoning), _AFTER_REASONING))
        return (block,) if self._request.reasoning_open else (Optional(block),)

    def _thought(self, reasoning: Reasoning) -> Tag:
        opener = self._spelling(reasoning.fence.open[0])
        closer = self._spelling(reasoning.fence.close[0])
        begin: str | Token = "" if self._request.reasoning_open else opener.token or opener.text
        return Tag(begin, AnyText(self._excluded), closer.token or closer.text)

    def _calls(self, tools: Series[Tool]) -> Format:
        dialect = self._dialect
        separator = dialect.separator.replace("~", "")
        calls = TagsWithSeparator(self._tags(tools), separator, at_least_one=True, stop_after_first=self._single)
        if dialect.section is None:
            return calls
        opener, closer = self._spelling(dialect.section.open[0]), self._spelling(dialect.section.close[0])
        return Sequence((opener.alone, calls, closer.alone))

    def _section_tag(self, opener: _Spelling) -> Tag:
        dialect = self._dialect
        assert dialect.section is not None
        closer = self._spelling(dialect.section.close[0])
        separator = dialect.separator.replace("~", "")
        calls = TagsWithSeparator(self._tags(self._tools), separator, at_least_one=True, stop_after_first=self._single)
        begin: str | Token = opener.token or opener.text
        content = _joined(opener.tail, calls, closer.lead)
        return Tag(begin, content, closer.token or closer.text + closer.tail)

    def _tags(self, tools: Series[Tool]) -> tuple[Tag, ...]:
        opener = self._spelling(self._dialect.call.open[0])
        closer = self._spelling(self._dialect.call.close[0])
        if opener.token is None:
            return tuple(self._text_tag(tool, opener, closer) for tool in tools)
        bodies = tuple(self._body(tool, opener, closer) for tool in tools)
        return (Tag(opener.token, Or(bodies) if len(bodies) > 1 else bodies[0], closer.token or ""),)

    def _text_tag(self, tool: Tool, opener: _Spelling, closer: _Spelling) -> Tag:
        head, arguments, tail = self._dialect.body.grammar(tool)
        if closer.token is None:
            return Tag(opener.before(head), arguments, closer.after(tail))
        return Tag(opener.before(head), _joined("", arguments, closer.after(tail)), closer.token)

    def _body(self, tool: Tool, opener: _Spelling, closer: _Spelling) -> Format:
        head, arguments, tail = self._dialect.body.grammar(tool)
        return _joined(opener.before(head), arguments, closer.after(tail))

    def _spelling(self, spelling: str) -> _Spelling:
        marker = Marker(spelling)
        text = "".join((literal or "") + gap for literal, gap in marker.parts)
        token = self._binding.token(text)
        return _Spelling(marker.lead, text, None if token is None else Token(token), marker.tail)


def _joined(head: str, content: Format, tail: str) -> Format:
    parts = [ConstString(head)] if head else []
    return Sequence((*parts, content, *([ConstString(tail)] if tail else [])))


def _bounded(tool: Tool) -> Tool:
    """A tool without parameters takes none."""
    return tool if tool.parameters is not None else replace(tool, parameters=_NOTHING)
