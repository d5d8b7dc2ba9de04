"""A wire format as a ``response_template``: transformers' description of how a reply reads, version 1.

It has the first dialect in its canonical spelling, with any whitespace where the format has some. What transformers'
reader would read otherwise is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from toolglot.errors import ExportError
from toolglot.formats.declaration import Calls, Frame, Reasoning, WireFormat
from toolglot.formats.element_call import ElementCall
from toolglot.formats.headed_call import HeadedCall
from toolglot.formats.json_call import JsonCall
from toolglot.formats.json_text import Json
from toolglot.formats.map import Map
from toolglot.formats.markers import core
from toolglot.formats.python_call import PythonCall
from toolglot.formats.templates import Part, parts_of
from toolglot.formats.values import BySchema

Template: TypeAlias = dict[str, Any]
_WORD = {"name": r"[\w.:/@$-]+", "id": r"\S+?", "key": r"[^\s>=]+"}
"""What a slot may hold."""


def response_template(form: WireFormat, *, start_anchor: str | None = None, ends: Sequence[str] = ()) -> Template:
    """The ``response_template`` of a format.

    A format says nothing of the turns around a reply: ``start_anchor`` is what the prompt has before it, without which
    transformers takes no template, and ``ends`` are the texts that end it.

    Raises:
        ExportError: the format cannot be written so; its reason says what stands against it.
    """
    if form.between:
        raise ExportError(f"{form.between!r} stands between the parts of a turn")
    fields = {"thinking": _thinking(form.reasoning)} if form.reasoning else {}
    fields |= {"tool_calls": _calls(form.calls[0]), "content": _content(form, ends)}
    anchor = {} if start_anchor is None else {"start_anchor": start_anchor}
    return {"version": 1, "defaults": {"role": "assistant"}, **anchor, "fields": fields}


def _thinking(reasoning: Reasoning) -> Template:
    again = {"repeats": True, "join": "\n"} if reasoning.again else {}
    return {"open": _cores(reasoning.fence.open), "close": _cores(reasoning.fence.close), **again}


def _content(form: WireFormat, ends: Sequence[str]) -> Template:
    if form.content is not None:
        return {"open": _cores(form.content.open), "close": _cores(form.content.close)}
    closes = list(dict.fromkeys((*ends, *_cores(form.trailer))))
    parts = {"repeats": True, "join": ""}  # else text behind a call, also none, would take the place of what is before
    return {"close": closes, **parts} if closes else parts


def _cores(spellings: Sequence[str]) -> list[str]:
    """Spellings without the whitespace around them, which transformers takes off what is between."""
    return list(dict.fromkeys(filter(None, map(core, spellings))))


def _calls(dialect: Calls) -> Template:
    match dialect.body:
        case JsonCall() as body if dialect.section is None:
            content = {
                "content": "json",
                "transform": _transform("content." + body.name, "content." + body.arguments[0]),
            }
            return {**_delimiters(dialect.call), **_repeats(dialect), **content}
        case JsonCall() as body:
            return {**_list(dialect), "content": "json", **_each(body.name, body.arguments[0])}
        case PythonCall():
            return {**_list(dialect), "content": "python-call-list", **_each("name", "arguments")}
        case HeadedCall(head, arguments):
            return {**_headed(dialect, head[0]), "content": "json", **_arguments(arguments)}
        case ElementCall() as body:
            return {**_headed(dialect, body.head), "content": "xml-inline", "content_args": _elements(body)}
    raise ExportError(f"calls are written as no {type(dialect.body).__name__} there")


def _transform(name: str, arguments: str, own: str | None = None) -> Template:
    call = {"type": "function", "function": {"name": f"{{{name}}}", "arguments": f"{{{arguments}}}"}}
    return call if own is None else {"id": f"{{{own}}}", **call}


def _each(name: str, arguments: str) -> Template:
    return {"transform_each": True, "transform": _transform(name, arguments)}


def _repeats(dialect: Calls) -> Template:
    if dialect.separator.strip("~ \n"):
        raise ExportError(f"{dialect.separator!r} stands between two calls")
    return {} if dialect.single else {"repeats": True}


def _delimiters(frame: Frame, head: str = "") -> Template:
    """What opens and closes a region. With ``head`` the opener takes the call's header in."""
    opener, closer = core(frame.open[0]), core(frame.close[0])
    if not opener:
        raise ExportError("no marker stands before a call")
    if not closer:
        raise ExportError("no marker stands behind a call")
    opens = parts_of(_braced(frame.open[0].lstrip("~ \n")) + head) if head else _text(opener)
    return _delimiter("open", opens) | _delimiter("close", _text(closer))


def _braced(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _text(marker: str) -> tuple[Part, ...]:
    return parts_of(_braced(marker))


def _delimiter(which: str, parts: Sequence[Part]) -> Template:
    if all(part.kind == "text" for part in parts):
        return {which: "".join(part.value for part in parts)}
    return {f"{which}_pattern": _pattern(parts)}


def _pattern(parts: Sequence[Part], words: Mapping[str, str] = _WORD) -> str:
    """The regular expression of a template, with a group for each slot."""
    return "".join(_piece(part, words) for part in parts)


def _piece(part: Part, words: Mapping[str, str]) -> str:
    match part.kind:
        case "text":
            return re.escape(part.value)
        case "gap":
            return r"\s*"
        case "word" if part.value in words:
            return f"(?P<{part.value}>{words[part.value]})"
        case "attr" if part.value in words:
            return f'"(?P<{part.value}>[^"]+)"'
    raise ExportError(f"`{part.value}`, which stands in a call, has no place there")


def _list(dialect: Calls) -> Template:
    """The region of a list in brackets."""
    section = dialect.section or Frame()
    opener, closer = core(section.open[0]), core(section.close[0])
    if (
        not opener.endswith("[")
        or not closer.startswith("]")
        or dialect.separator.strip() != ","
        or dialect.call.open[0]
    ):
        raise ExportError("calls are not written as a list in brackets")
    return _delimiters(Frame((opener[:-1],), (closer[1:],)))


def _headed(dialect: Calls, head: str) -> Template:
    if dialect.section is not None:
        raise ExportError(f"calls stand in a section of their own, {core(dialect.section.open[0])!r}")
    own = "id" if any(part.value == "id" for part in parts_of(head) if part.kind != "text") else None
    return {
        **_delimiters(dialect.call, head.rstrip("~ \n")),
        **_repeats(dialect),
        "transform": _transform("name", "content", own),
    }


def _arguments(arguments: Any) -> Template:
    match arguments:
        case Json():
            return {}
        case Map(quote, "strings"):
            return {"content_args": {"unquoted_keys": True, "string_delims": [[quote, quote]]}}
    raise ExportError("arguments are written as no JSON")


def _elements(body: ElementCall) -> Template:
    if not isinstance(body.values, BySchema) or body.values.cdata:
        raise ExportError("the text of an argument says of which type it is")
    template = parts_of(body.argument.rstrip("~ \n"))
    place = next(number for number, part in enumerate(template) if part.value == "value" and part.kind == "word")
    pieces = [_piece(part, _WORD | {"value": ".*?"}) for part in template]
    for beside in (place - 1, place + 1):  # whitespace next to a value is that much, the rest is the value's
        if template[beside].kind == "gap":
            pieces[beside] = re.escape(template[beside].value).replace("\\\n", "\n")
    return {"tag_pattern": "".join(pieces)}
