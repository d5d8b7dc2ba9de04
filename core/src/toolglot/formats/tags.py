"""What a format lets the model write, for one request: the structural tag, derived from the declaration.

Calls are written in the first dialect, in its canonical spelling. Where a marker is a token it is named by id, so
that nothing else spells it; other added tokens occur nowhere. Free text, and reasoning, exclude what would open a
call where none may begin.
"""

from __future__ import annotations

from collections.abc import Sequence as Series
from functools import cached_property

from toolglot.errors import GrammarError, RenderError
from toolglot.events import Call
from toolglot.formats import ebnf
from toolglot.formats.bare_value import Subschema
from toolglot.formats.binding import Binding
from toolglot.formats.declaration import Calls, Frame, Reasoning, WireFormat
from toolglot.formats.json_grammar import json_value
from toolglot.formats.layout import distinct, headless
from toolglot.formats.markers import Marker, core
from toolglot.formats.signature import Signature
from toolglot.formats.templates import parts_of, slot_of
from toolglot.formats.value_grammar import ANY_OBJECT
from toolglot.requests import Named, Request, Tool
from toolglot.schemas import normalise
from toolglot.schemas.normal import Normal
from toolglot.structural_tag import (
    AnyText,
    ConstString,
    Format,
    Optional,
    Or,
    Regex,
    Repeat,
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
_NOTHING_MORE = Repeat(0, 0, ConstString(" "))


def structural_tag(form: WireFormat, binding: Binding, request: Request) -> StructuralTag | None:
    """The grammar of the whole output, or None where nothing is to be constrained.

    Named and required calls always are; with ``auto``, calls are when a tool is strict or the strict level says so;
    with ``none``, text is, so that no call can begin. Content is where it is to be JSON.

    Raises:
        GrammarError: a tool or a schema cannot be held to; ``param`` is the field with it.
    """
    writer = _Writer(form, binding, request)
    if request.call_demanded and request.tools:
        return StructuralTag(writer.only_calls())
    if request.content_schema is not None:
        return StructuralTag(writer.content_or_calls() if request.calls_allowed else writer.only_content())
    if request.calls_enforced:
        return StructuralTag(writer.free_calls())
    if request.tools and request.tool_choice == "none" and writer.trigger:
        return StructuralTag(writer.no_calls())
    return None


class _Writer:
    def __init__(self, form: WireFormat, binding: Binding, request: Request) -> None:
        self._form = form
        self._binding = binding
        self._request = request
        self._dialect: Calls = form.calls[0]

    # -- whole outputs

    @property
    def trigger(self) -> str | Token | None:
        """The beginning of the marker that begins calls in free text, up to a gap in it.

        None where the marker could be ordinary text, as ``{`` could.
        """
        return self._atoms(Marker(self._opener).head)[0] if distinct(self._opener) else None

    def no_calls(self) -> Format:
        """Reasoning and free text in which no call can begin."""
        return Sequence((*self._reasoning(), self._text(self._excluded)))

    def only_calls(self) -> Format:
        """Reasoning, then one call or more, and nothing else."""
        return Sequence((*self._reasoning(), self._calls(), _AT_THE_END))

    def only_content(self) -> Format:
        """Reasoning, then content that is JSON."""
        return Sequence((*self._reasoning(), self._content()))

    def content_or_calls(self) -> Format:
        """Reasoning, then content that is JSON, or calls."""
        calls = Sequence((self._calls(), _AT_THE_END))
        return Sequence((*self._reasoning(), Or((self._content(), calls))))

    def free_calls(self) -> Format:
        """Free text, in which the opener leads into calls."""
        if self._form.content is not None:
            return Sequence((*self._reasoning(), self._answer_or_calls(self._form.content)))
        text = AnyText((*self._excluded, *self._fences))
        if self.trigger is None and self._form.begins == "start":
            return Sequence((*self._reasoning(), Or((Sequence((self._calls(), _AT_THE_END)), text))))
        if self._dialect.section is not None:
            return Sequence((*self._reasoning(), text, Optional(self._calls()), _AT_THE_END))
        tags, one = self._tags(), self._single
        if isinstance(self.trigger, Token):
            free: Format = TokenTriggeredTags((self.trigger.token,), tags, stop_after_first=one)
        else:
            free = TriggeredTags(self._excluded, tags, stop_after_first=one, excludes=self._fences)
        return Sequence((*self._reasoning(), free, *((_AT_THE_END,) if one else ())))

    # -- tools

    @cached_property
    def _bodies(self) -> tuple[tuple[str | Format, ...], ...]:
        """How each tool is called, without the frame of calls."""
        return tuple(self._body(number, tool) for number, tool in self._callable)

    @property
    def _callable(self) -> list[tuple[int, Tool]]:
        """The tools that may be called, and where the request has them."""
        choice = self._request.tool_choice
        named = choice.name if isinstance(choice, Named) else None
        return [(number, tool) for number, tool in enumerate(self._request.tools) if named in (None, tool.name)]

    def _body(self, number: int, tool: Tool) -> tuple[str | Format, ...]:
        field = f"tools[{number}].function"
        try:
            self._dialect.body.render(Call("", tool.name, "{}"), 0, None, None)
        except RenderError as error:
            raise GrammarError(
                f"{tool.name!r} cannot be called in this format: {error}", param=f"{field}.name"
            ) from error
        try:
            return self._dialect.body.grammar(self._signature(tool))
        except GrammarError as error:
            raise GrammarError(f"tool {tool.name!r}: {error}", param=f"{field}.parameters") from error

    def _signature(self, tool: Tool) -> Signature:
        normal = Normal(ANY_OBJECT)
        if self._request.enforces(tool):
            found = normalise(tool.parameters)
            if tool.strict is True and found.relaxed:
                first = found.relaxed[0]
                raise GrammarError(f"it is strict, and {first.path} cannot be enforced: {first.reason}")
            normal = found.normal
        any_order = self._request.any_property_order and tool.strict is not True
        return Signature(tool.name, normal, Subschema.of_tool(tool), any_order, self._marker)

    def _marker(self, marker: str) -> str:
        """A marker in a grammar."""
        pieces = self._binding.split(marker)
        return " ".join(f"Token({piece})" if isinstance(piece, int) else ebnf.text(piece) for piece in pieces)

    @property
    def _single(self) -> bool:
        named = isinstance(self._request.tool_choice, Named)
        return named or self._dialect.single or not self._request.parallel_tool_calls

    # -- what text must not spell

    @property
    def _opener(self) -> str:
        """The spelling with which calls begin; without one, what stands behind the name in their header."""
        frame = self._dialect.section or self._dialect.call
        if not headless(self._dialect):
            return frame.open[0]
        parts = parts_of(self._dialect.body.heads[0])
        return parts[slot_of(parts) + 1].value

    @cached_property
    def _excluded(self) -> tuple[str, ...]:
        """What would begin a call."""
        if self.trigger is not None:
            return (self.trigger,) if isinstance(self.trigger, str) else ()
        section = self._dialect.section.open[0] if self._dialect.section else ""
        before = (section + self._dialect.call.open[0]).replace("~", "")
        names = (tool.name for _, tool in self._callable)
        return tuple(_up_to(name, before + str(body[0])) for name, body in zip(names, self._bodies, strict=True))

    @property
    def _fences(self) -> tuple[str, ...]:
        """Reasoning openers that free text must not spell: in what follows them the reader would see no call."""
        reasoning = self._form.reasoning
        if reasoning is None or reasoning.call_ends:
            return ()
        return self._as_text(reasoning.fence.open[0])

    def _as_text(self, marker: str) -> tuple[str, ...]:
        """What free text must not spell, where the marker begins with text and not with a token."""
        return tuple(atom for atom in self._atoms(core(marker))[:1] if isinstance(atom, str))

    # -- text

    def _text(self, excluded: Series[str]) -> Format:
        """Free text, in the frame of plain answers where there is one, or without it."""
        free, frame = AnyText(tuple(excluded)), self._form.content
        return free if frame is None else Or((self._answer(frame, free), free))

    def _answer(self, frame: Frame, text: Format) -> Tag:
        """A plain answer in its frame."""
        return self._tag((frame.open[0], text, core(frame.close[0])))

    def _answer_or_calls(self, frame: Frame) -> Format:
        """A plain answer, or calls, before which one may stand: in its frame, if something must stand between them."""
        excluded = (*self._excluded, *self._fences)
        between = self._form.between
        if not between:
            return Sequence((self._text(excluded), Optional(self._calls()), _AT_THE_END))
        before = Optional(_sequence(self._written((self._answer(frame, AnyText(excluded)), between))))
        return Or((self._text(excluded), Sequence((before, self._calls(), _AT_THE_END))))

    def _content(self) -> Format:
        """JSON content, in the frame of plain answers where there is one, or without it."""
        frame = self._form.content
        fences = self._form.reasoning.fence if self._form.reasoning else Frame()
        markers = (self._form.between, *(frame.open + frame.close if frame else ()), fences.open[0])
        excludes = dict.fromkeys((*filter(self._is_text, map(core, markers)), *self._callers()))
        try:
            normal = normalise(self._request.content_schema, arguments=False).normal
            bare = self._request.calls_allowed and self.trigger is None
            json = json_value(normal, tuple(excludes), any_order=self._request.any_property_order, apart=bare)
        except GrammarError as error:
            raise GrammarError(str(error), param="response_format") from error
        return json if frame is None else Or((self._answer(frame, json), json))

    def _callers(self) -> tuple[str, ...]:
        """What in a string of JSON would begin a call."""
        if not self._request.calls_allowed:
            return ()
        if self.trigger is not None:
            return tuple(filter(self._is_text, (Marker(self._opener).head,)))
        return tuple(text for text in self._excluded if '"' not in text)

    def _is_text(self, marker: str) -> bool:
        """Whether text could spell a marker: no token is in it."""
        return all(isinstance(atom, str) for atom in self._atoms(marker)) and bool(marker)

    def _reasoning(self) -> tuple[Format, ...]:
        reasoning = self._form.reasoning
        if reasoning is None or not (self._request.reasoning_open or self._request.may_reason):
            return ()
        after = self._written((self._form.between or _AFTER_REASONING,))
        block = _sequence((self._thought(reasoning), *after))
        return (block,) if self._request.reasoning_open else (Optional(block),)

    def _thought(self, reasoning: Reasoning) -> Tag:
        opener = "" if self._request.reasoning_open else core(reasoning.fence.open[0])
        excluded = (*self._excluded, *self._as_text(self._form.between))
        return self._tag((opener, AnyText(excluded), core(reasoning.fence.close[0])))

    # -- calls

    def _calls(self) -> Format:
        """One call or more, in their section."""
        section = self._dialect.section
        if section is None:
            return self._list()
        return _sequence(self._written((section.open[0], self._list(), section.close[0])))

    def _list(self) -> Format:
        tags = self._tags()
        match self._written((self._dialect.separator, self._form.between)):
            case [] | [str()] as joint:
                separator = "".join(map(str, joint))
                return TagsWithSeparator(tags, separator, at_least_one=True, stop_after_first=self._single)
            case joint:  # with a token in it
                one = tags[0] if len(tags) == 1 else Or(tags)
                return one if self._single else Sequence((one, Repeat(0, -1, _sequence((*joint, one)))))

    def _tags(self) -> tuple[Tag, ...]:
        """A tag for each tool, or one for all where they begin with the same token."""
        frame = self._dialect.call
        tags = [self._tag((frame.open[0], *body, frame.close[0])) for body in self._bodies]
        first = tags[0]
        if len(tags) > 1 and isinstance(first.begin, Token):
            return (Tag(first.begin, Or(tuple(tag.content for tag in tags)), first.end),)
        return tuple(tags)

    def _tag(self, pieces: Series[str | Format]) -> Tag:
        """A tag of pieces: it begins with a token or text, and ends so.

        Where it begins with a token, tags of several tools are to be joined: then it ends with a token or with nothing.
        It does not end with whitespace alone, which would then be kept out of its content.
        """
        atoms = self._written(pieces)
        begin = atoms.pop(0) if isinstance(atoms[0], str | Token) else ""
        last = atoms[-1] if atoms else ""
        ends = isinstance(last, Token) or (isinstance(last, str) and last.strip() and not isinstance(begin, Token))
        end = atoms.pop() if ends else ""
        assert isinstance(begin, str | Token)
        assert isinstance(end, str | Token)
        return Tag(begin, _sequence(atoms), end)

    def _written(self, pieces: Series[str | Format]) -> list[str | Format]:
        """Pieces with whitespace as it is written and tokens by id; neighbouring texts are one."""
        atoms: list[str | Format] = []
        for piece in pieces:
            for atom in self._atoms(piece.replace("~", "")) if isinstance(piece, str) else [piece]:
                before = atoms[-1] if atoms else None
                if isinstance(atom, str) and isinstance(before, str):
                    atoms[-1] = before + atom
                else:
                    atoms.append(atom)
        return atoms

    def _atoms(self, text: str) -> list[str | Token]:
        return [Token(piece) if isinstance(piece, int) else piece for piece in self._binding.split(text)]


def _sequence(atoms: Series[str | Format]) -> Format:
    formats = tuple(ConstString(atom) if isinstance(atom, str) else atom for atom in atoms)
    if not formats:
        return _NOTHING_MORE
    return formats[0] if len(formats) == 1 else Sequence(formats)


def _up_to(name: str, beginning: str) -> str:
    """The beginning of a call up to what shows where its name ends."""
    end = beginning.find(name) + len(name) + 1 if name in beginning else len(beginning)
    return beginning[:end]
