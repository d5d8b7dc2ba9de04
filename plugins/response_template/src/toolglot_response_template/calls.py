"""The region of tool calls as a dialect: where the name and the arguments stand, and how they are written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from toolglot.formats import Calls, ElementCall, Frame, HeadedCall, Json, JsonCall, Map, PythonCall
from toolglot_response_template.patterns import MisfitError, pattern_templates, spellings, templates

_REFERENCE = re.compile(r"\{(\w+(?:\.\w+)*)\}")
_TAG = re.compile(r"<([A-Za-z_][\w:.-]*)[^<>]*>")
_QUOTED = re.compile(r'"\{(\w+)\}"')
_CONTENT = "content"


class _Places(Struct, frozen=True):
    """Where the parts of a call stand, each as what the template calls it: ``content.name``, or a named group."""

    name: str
    arguments: str
    id: str | None = None


def dialect(field: Mapping[str, Any]) -> Calls:
    """The dialect that the field ``tool_calls`` describes.

    Raises:
        MisfitError: none is described so.
    """
    match field.get("content", "text"):
        case "json":
            return _json(field, _places(field))
        case "xml-inline":
            return _elements(field, _places(field))
        case "python-call-list":
            section = _list(field)
            return Calls(PythonCall(), section=section, separator=", ")
        case other:
            raise MisfitError(f"tool calls are written as {other!r}")


def _json(field: Mapping[str, Any], places: _Places) -> Calls:
    if places.arguments == _CONTENT:
        opens, heads = _head(field, places)
        frame = Frame(opens, spellings(field, "close"))
        return Calls(HeadedCall(heads, _arguments(field)), call=frame, single=not field.get("repeats"))
    if field.get("content_args"):
        raise MisfitError("the object of a call is not plain JSON")
    listed = bool(field.get("transform_each"))
    own = places.id and _key(places.id, listed=listed)
    body = JsonCall(_key(places.name, listed=listed), (_key(places.arguments, listed=listed),), own)
    if listed:
        return Calls(body, section=_list(field), separator=", ")
    frame = Frame(spellings(field, "open"), spellings(field, "close"))
    return Calls(body, call=frame, single=not field.get("repeats"))


def _list(field: Mapping[str, Any]) -> Frame:
    opens, closes = spellings(field, "open"), spellings(field, "close")
    return Frame(tuple(f"{one}~[" for one in opens), tuple(f"]~{one}" for one in closes))


def _elements(field: Mapping[str, Any], places: _Places) -> Calls:
    opens, heads = _head(field, places)
    if len(heads) > 1:
        raise MisfitError("the header of a call has several spellings")
    argument = pattern_templates(field.get("content_args", {}).get("tag_pattern", ""))
    if len(argument) > 1 or "{key}" not in argument[0] or "{value}" not in argument[0]:
        raise MisfitError("`tag_pattern` is not one spelling with a key and a value")
    body = ElementCall(_attributes(heads[0]) + "~", _attributes(argument[0]) + "~")
    closes = tuple(_tags_closed(opens[0] + heads[0], one) for one in spellings(field, "close"))
    return Calls(body, call=Frame(opens, closes), single=not field.get("repeats"))


def _attributes(template: str) -> str:
    """The same with slots in quotes as attributes: a name in quotes may hold whitespace."""
    return _QUOTED.sub(r"{\1:attr}", template)


def _tags_closed(opener: str, closer: str) -> str:
    """The closer, with the end of each element that the opener leaves open: transformers passes over what is behind
    the last argument.
    """
    tags = [tag for tag in _TAG.findall(opener) if f"</{tag}>" not in closer]
    return "".join(f"</{tag}>~" for tag in reversed(tags)) + closer


def _head(field: Mapping[str, Any], places: _Places) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The opener of a call up to its name, and the header from the name on, with all their spellings."""
    slots = {places.name: "name"} | ({places.id: "id"} if places.id else {})
    before, after = [], []
    for template in templates(field, "open"):
        named = re.sub(r"(?<!\{)\{(\w+)\}", lambda found: f"{{{_slot(slots, found[1])}}}", template)
        opener, slot, rest = named.partition("{name}")
        if not slot or not opener.strip(" ~\n"):
            raise MisfitError("the name of the tool is not behind the opener of its call")
        before.append(opener)
        after.append(slot + rest)
    return tuple(dict.fromkeys(before)), tuple(dict.fromkeys(after))


def _slot(slots: Mapping[str, str], group: str) -> str:
    if group not in slots:
        raise MisfitError(f"the group `{group}` of `open_pattern` is no part of a call")
    return slots[group]


def _arguments(field: Mapping[str, Any]) -> Json | Map:
    args = field.get("content_args") or {}
    if not args:
        return Json()
    match args.get("string_delims"):
        case [[opener, closer]] if opener == closer and args.keys() == {"string_delims", "unquoted_keys"}:
            return Map(opener)
    raise MisfitError(f"the arguments are JSON with {', '.join(args)}")


def _places(field: Mapping[str, Any]) -> _Places:
    """What the transform says of a call."""
    inner = "" if field.get("transform_each") else f"{_CONTENT}."
    transform = field.get("transform")
    if transform is None:
        return _Places(f"{inner}name", f"{inner}arguments")
    function = transform.get("function") if isinstance(transform, Mapping) else None
    if function == f"{{{_CONTENT}}}" and inner:
        return _Places("content.name", "content.arguments")
    if not isinstance(function, Mapping):
        raise MisfitError("`transform` makes no tool call")
    own = transform.get("id")
    return _Places(_reference(function.get("name")), _reference(function.get("arguments")), own and _reference(own))


def _reference(value: Any) -> str:
    found = _REFERENCE.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise MisfitError(f"`transform` says {value!r} where a name or arguments must stand")
    return found[1]


def _key(place: str, *, listed: bool) -> str:
    """The key of a call's object; in a list its members stand for themselves."""
    key = place if listed else place.removeprefix(f"{_CONTENT}.")
    if "." in key or (key == place and not listed):
        raise MisfitError(f"`{place}` is not a member of the call's object")
    return key
