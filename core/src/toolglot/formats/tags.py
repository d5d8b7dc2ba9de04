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
from toolglot.formats.declaration import Calls, Reasoning, WireFormat
from toolglot.formats.layout import distinct
from toolglot.formats.markers import GAP, Marker
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
        return Sequence((*self._reasoning(), AnyText(self._excluded)))

    def only_calls(self) -> Format:
        """Reasoning, then one call or more, and nothing else."""
        return Sequence((*self._reasoning(), self._calls(), _AT_THE_END))

    def free_calls(self) -> Format:
        """Free text, in which the opener leads into calls."""
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
        """The spelling with which calls begin."""
        frame = self._dialect.section or self._dialect.call
        return frame.open[0]

    @property
    def _excluded(self) -> tuple[str, ...]:
        return (self.trigger,) if isinstance(self.trigger, str) else ()

    @property
    def _fences(self) -> tuple[str, ...]:
        """Reasoning openers that free text must not spell: in what follows them the reader would see no call."""
        reasoning = self._form.reasoning
        if reasoning is None or reasoning.call_ends:
            return ()
        opener = self._atoms(_core(reasoning.fence.open[0]))[0]
        return (opener,) if isinstance(opener, str) else ()

    def _reasoning(self) -> tuple[Format, ...]:
        reasoning = self._form.reasoning
        if reasoning is None or not (self._request.reasoning_open or self._request.may_reason):
            return ()
        block = Sequence((self._thought(reasoning), _AFTER_REASONING))
        return (block,) if self._request.reasoning_open else (Optional(block),)

    def _thought(self, reasoning: Reasoning) -> Tag:
        opener = "" if self._request.reasoning_open else _core(reasoning.fence.open[0])
        return self._tag((opener, AnyText(self._excluded), _core(reasoning.fence.close[0])))

    def _calls(self) -> Format:
        """One call or more, in their section."""
        section = self._dialect.section
        if section is None:
            return self._list()
        return _sequence(self._written((section.open[0], self._list(), section.close[0])))

    def _list(self) -> Format:
        separator = self._dialect.separator.replace("~", "")
        return TagsWithSeparator(self._tags(), separator, at_least_one=True, stop_after_first=self._single)

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
        """
        atoms = self._written(pieces)
        begin = atoms.pop(0) if isinstance(atoms[0], str | Token) else ""
        end = atoms.pop() if atoms and isinstance(atoms[-1], Token if isinstance(begin, Token) else str | Token) else ""
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


def _core(spelling: str) -> str:
    return spelling.strip(GAP).replace("~", "")


def _sequence(atoms: Series[str | Format]) -> Format:
    formats = tuple(ConstString(atom) if isinstance(atom, str) else atom for atom in atoms)
    if not formats:
        return _NOTHING_MORE
    return formats[0] if len(formats) == 1 else Sequence(formats)


def _bounded(tool: Tool) -> Tool:
    """A tool without parameters takes none."""
    return tool if tool.parameters is not None else replace(tool, parameters=_NOTHING)
