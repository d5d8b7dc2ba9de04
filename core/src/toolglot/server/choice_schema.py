"""``tool_choice`` as ``/openapi.json`` describes it. It is read by hand, as a word and several forms of objects."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from msgspec import Meta

Schema: TypeAlias = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_WORD: Schema = {"enum": ["auto", "none", "required", None]}
_MODE: Schema = {"enum": ["auto", "required"]}
_FUNCTION: Schema = {"const": "function"}

FunctionType: TypeAlias = Annotated[str, Meta(extra_json_schema=_FUNCTION)]
"""The type of a tool: there is one, and another is refused by name."""


def _object(required: Schema, **optional: Any) -> Schema:
    return {"type": "object", "properties": {**required, **optional}, "required": list(required)}


def _choice(*objects: Schema) -> Meta:
    return Meta(extra_json_schema={"anyOf": [_WORD, *objects]})


def _some(tool: Schema) -> Schema:
    """Some of the tools."""
    return {"mode": _MODE, "tools": {"type": "array", "items": tool, "minItems": 1}}


_NAME = _object({"name": _TEXT})
_NAMED = _object({"function": _NAME}, type=_FUNCTION)

ChatToolChoice: TypeAlias = Annotated[
    Any, _choice(_NAMED, _object({"type": {"const": "allowed_tools"}, "allowed_tools": _object(_some(_NAMED))}))
]
"""That of Chat Completions."""

ResponsesToolChoice: TypeAlias = Annotated[
    Any,
    _choice(
        _object({"type": _FUNCTION, "name": _TEXT}),
        _object({"type": {"const": "allowed_tools"}, **_some(_object({"name": _TEXT}, type=_FUNCTION))}),
    ),
]
"""That of the Responses API."""
