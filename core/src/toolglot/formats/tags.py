"""What a format lets the model write, for one request: the structural tag, derived from the declaration.

Calls are written in the first dialect, in its canonical spelling. Where a marker is a token it is named by id, so
that nothing else spells it; other added tokens occur nowhere. Free text, and reasoning, exclude what would open a
call where none may begin.
"""

from __future__ import annotations

from collections.abc import Sequence as Series
from typing import Any

from msgspec.structs import replace

from toolglot.formats.binding import Binding
from toolglot.formats.declaration import Calls, Frame, Reasoning, WireFormat
from toolglot.formats.layout import distinct, headless
from toolglot.formats.markers import Marker, core
from toolglot.formats.schema_shape import shaped
from toolglot.formats.templates import parts_of, slot_of
from toolglot.requests import Named, Request, Tool
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


class _Writer:
    def __init__(self, form: WireFormat, binding: Binding, request: Request) -> None:
        self._form = form
        self._binding = binding
        self._request = request
        self._dialect: Calls = form.calls[0]

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

    def free_calls(self) -> Format:
        """Free text, in which the opener leads into calls."""
        if self._form.content is not None:
            return Sequence((*self._reasoning(), self._answer_or_calls(self._form.content)))
        if self._dialect.section is not None:
            text = AnyText((*self._excluded, *self._fences))
            return Sequence((*self._reasoning(), text, Optional(self._calls()), _AT_THE_END))
        trigger, tags, one = self.trigger, self._tags(), self._single
        assert trigger is not None
        if isinstance(trigger, Token):
            free: Format = TokenTriggeredTags((trigger.token,), tags, stop_after_first=one)
        else:
            free = TriggeredTags((trigger,), tags, stop_after_first=one, excludes=self._fences)
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
    def _opener(self) -> str:
        """The spelling with which calls begin; without one, what stands behind the name in their header."""
        frame = self._dialect.section or self._dialect.call
        if not headless(self._dialect):
            return frame.open[0]
        parts = parts_of(self._dialect.body.heads[0])
        return parts[slot_of(parts) + 1].value

    @property
    def _excluded(self) -> tuple[str, ...]:
        return (self.trigger,) if isinstance(self.trigger, str) else ()

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

    def _text(self, excluded: Series[str]) -> Format:
        """Free text, in the frame of plain answers where there is one, or without it."""
        free, frame = AnyText(tuple(excluded)), self._form.content
        return free if frame is None else Or((self._answer(frame, excluded), free))

    def _answer(self, frame: Frame, excluded: Series[str]) -> Tag:
        """A plain answer in its frame."""
        return self._tag((frame.open[0], AnyText(tuple(excluded)), core(frame.close[0])))

    def _answer_or_calls(self, frame: Frame) -> Format:
        """A plain answer, or calls, before which one may stand: in its frame, if something must stand between them."""
        excluded = (*self._excluded, *self._fences)
        between = self._form.between
        if not between:
            return Sequence((self._text(excluded), Optional(self._calls()), _AT_THE_END))
        before = Optional(_sequence(self._written((self._answer(frame, excluded), between))))
        return Or((self._text(excluded), Sequence((before, self._calls(), _AT_THE_END))))

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
        tags = [self._tag((frame.open[0], *self._dialect.body.grammar(tool), frame.close[0])) for tool in self._tools]
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
            for atom in self._atoms(piece.replace("~", "")) if isinstance(piece, str) else [self._inside(piece)]:
                before = atoms[-1] if atoms else None
                if isinstance(atom, str) and isinstance(before, str):
                    atoms[-1] = before + atom
                else:
                    atoms.append(atom)
        return atoms

    def _inside(self, value: Format) -> Format:
        """A format in whose texts the markers that are tokens stand by id."""
        match value:
            case ConstString(text):
                return _sequence(self._atoms(text))
            case Sequence(elements) | Or(elements):
                return replace(value, elements=tuple(map(self._inside, elements)))
            case Optional(content) | Repeat(content=content):
                return replace(value, content=self._inside(content))
            case Tag(begin, content, end):
                return Tag(self._whole(begin), self._inside(content), self._whole(end))
        return value

    def _whole(self, marker: Any) -> Any:
        """A tag's begin or end: by id where it is one token."""
        atoms = self._atoms(marker) if isinstance(marker, str) else []
        return atoms[0] if len(atoms) == 1 else marker

    def _atoms(self, text: str) -> list[str | Token]:
        return [Token(piece) if isinstance(piece, int) else piece for piece in self._binding.split(text)]


def _sequence(atoms: Series[str | Format]) -> Format:
    formats = tuple(ConstString(atom) if isinstance(atom, str) else atom for atom in atoms)
    if not formats:
        return _NOTHING_MORE
    return formats[0] if len(formats) == 1 else Sequence(formats)


def _bounded(tool: Tool) -> Tool:
    """A tool whose schema can be made a grammar. One without parameters takes none. Raises GrammarError."""
    return replace(tool, parameters=_NOTHING if tool.parameters is None else shaped(tool.parameters))
