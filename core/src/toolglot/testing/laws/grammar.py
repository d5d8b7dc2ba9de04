"""L5: what the grammar admits is read. Every call in it is whole and validates; in free text there is none."""

from __future__ import annotations

import importlib
import importlib.util
import json
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from toolglot.events import Call, Message
from toolglot.parser import load_parser
from toolglot.requests import Named, Output, Request, Tool, ToolChoice
from toolglot.testing import reading
from toolglot.testing.laws.suite import EXAMPLES, Suite
from toolglot.testing.subject import subject

if TYPE_CHECKING:
    from toolglot.parser import Parser
    from toolglot.testing.sampling import Sampler

_OUTPUTS = max(6, EXAMPLES // 8)
_NEEDED = ("xgrammar", "torch", "tokenizers", "jsonschema")
_WEATHER = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "unit": {"enum": ["celsius", "°F"]},
        "days": {"type": "array", "items": {"type": "integer", "minimum": 0}, "maxItems": 3},
    },
    "required": ["city"],
    "additionalProperties": False,
}
_ADD = {
    "type": "object",
    "properties": {
        "a": {"type": "number"},
        "b": {"type": "object", "properties": {"c": {"type": ["boolean", "null"]}}},
    },
    "required": ["a", "b"],
    "additionalProperties": False,
}
_PLAN = {
    "type": "object",
    "properties": {
        "size": {"anyOf": [{"type": "integer", "minimum": -3, "maximum": 120}, {"type": "string", "maxLength": 6}]},
        "code": {"type": "string", "pattern": "^[A-Z]{2}-[0-9<]"},
        "share": {"type": "number", "minimum": 0, "exclusiveMaximum": 1},
        "mark": {"enum": ["</parameter>", "</arg_value>", "<escape>", "null", "5", "\n", None, 5, [1, "x"]]},
        "table": {"type": "array", "items": {"type": "array", "items": {"type": "boolean"}, "minItems": 1}},
        "tree": {"$ref": "#/$defs/tree"},
    },
    "required": ["size", "code"],
    "$defs": {
        "tree": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "minLength": 1},
                "under": {"type": "array", "items": {"$ref": "#/$defs/tree"}, "maxItems": 2},
            },
            "required": ["name"],
        }
    },
}
_OPEN = {
    "type": "object",
    "additionalProperties": {"type": ["integer", "null"]},
    "properties": {"at": {"type": "string"}},
}
_MOVE = {
    "oneOf": [
        {"properties": {"by": {"const": "name"}, "to": {"type": "string"}}, "required": ["by", "to"]},
        {"properties": {"by": {"const": "number"}, "to": {"type": "integer"}}, "required": ["by", "to"]},
    ],
}
_TOOLS = (
    Tool("get_weather", None, _WEATHER, strict=True),
    Tool("add.it", None, _ADD, strict=True),
    Tool("now", strict=True),
    Tool("plan", None, _PLAN, strict=True),
    Tool("open", None, _OPEN, strict=True),
    Tool("move", None, _MOVE, strict=True),
)
_LENIENT = tuple(replace(tool, strict=None) for tool in _TOOLS)
_ANSWER = {
    "type": "object",
    "properties": {
        "name": {"enum": ["get_weather", "</tool_call>", "plan"]},
        "arguments": {"type": "object", "properties": {"text": {"type": "string"}}},
    },
    "required": ["name"],
    "additionalProperties": False,
}
"""Content that looks like a call."""
_REQUESTS: Mapping[str, Request] = {
    "auto": Request(tools=_TOOLS),
    "auto, one call": Request(tools=_TOOLS, parallel_tool_calls=False),
    "auto, reasoning open": Request(tools=_TOOLS, reasoning_open=True),
    "required": Request(tools=_TOOLS, tool_choice="required"),
    "required, one call": Request(tools=_TOOLS, tool_choice="required", parallel_tool_calls=False),
    "required, no reasoning": Request(tools=_TOOLS, tool_choice="required", may_reason=False),
    "required, reasoning open": Request(tools=_TOOLS, tool_choice="required", reasoning_open=True),
    "named": Request(tools=_TOOLS, tool_choice=Named("add.it")),
    "named, union": Request(tools=_TOOLS, tool_choice=Named("move")),
    "named, open": Request(tools=_TOOLS, tool_choice=Named("open")),
    "named, many": Request(tools=_TOOLS, tool_choice=Named("plan")),
    "none": Request(tools=_TOOLS, tool_choice="none"),
    "auto, all held to their schemas": Request(tools=_LENIENT, strict_level="parameter"),
    "auto, all called by their names": Request(tools=_LENIENT, strict_level="function"),
    "JSON, or calls": Request(tools=_TOOLS, content_schema=_ANSWER),
    "JSON, and no calls": Request(tools=_TOOLS, tool_choice="none", content_schema=_ANSWER),
    "JSON without tools": Request(content_schema=_ANSWER),
    "calls where content would be JSON": Request(tools=_TOOLS, tool_choice="required", content_schema=_ANSWER),
}


_MARKERS_AS = pytest.mark.parametrize("tokens", [False, True], ids=["text", "tokens"])


def _closed(**types: str) -> dict[str, Any]:
    """The schema of an object with these properties, all required, and no others."""
    properties = {name: {"type": kind} for name, kind in types.items()}
    return {"type": "object", "properties": properties, "required": [*types], "additionalProperties": False}


_TYPED = (
    Tool("get_weather", None, _closed(city="string", days="integer"), strict=True),
    Tool("get_time", None, _closed(tz="string", h24="boolean"), strict=True),
)
_CALLS = [
    Call("", "get_weather", '{"city": "Paris", "days": 3}'),
    Call("", "get_time", '{"tz": "C&T <b>\\n\\n\'x\' {y}", "h24": true}'),
]
_MISTYPED = Call("", "get_weather", '{"city": "Paris", "days": "three"}')
_CHOICES: tuple[ToolChoice, ...] = ("auto", "required", Named("get_weather"))


class GrammarIsRead(Suite):
    """Outputs that are sampled at random under the grammar, and what the renderer writes."""

    @_MARKERS_AS
    @pytest.mark.parametrize("choice", _CHOICES, ids=["auto", "required", "named"])
    def test_l5_rendered_calls_are_admitted(self, choice: ToolChoice, tokens: bool) -> None:
        """What the renderer writes is admitted, and no argument of a wrong type."""
        parser, sampler = _sampling(self.parser, tokens)
        tag = parser.constrain(Request(tools=_TYPED, tool_choice=choice, may_reason=False))
        if tag is None:
            pytest.skip("this format does not constrain such a request")
        one = isinstance(choice, Named) or self.subject.form.calls[0].single
        assert sampler.admits(tag, parser.render(_CALLS[:1] if one else _CALLS, tools=_TYPED))
        assert not sampler.admits(tag, parser.render([_MISTYPED], tools=_TYPED))

    @_MARKERS_AS
    @pytest.mark.parametrize("request_", _REQUESTS.values(), ids=_REQUESTS)
    def test_l5_grammar_is_read(self, request_: Request, tokens: bool) -> None:
        """Whatever is written with the markers as text or as tokens, the exact reader reads."""
        parser, sampler = _sampling(self.parser, tokens)
        tag = parser.constrain(request_)
        if tag is None:
            pytest.skip("this format does not constrain such a request")
        request = replace(request_, constrained=True)
        read = 0
        for deltas in sampler.outputs(tag, _OUTPUTS):
            events = reading.stream(parser, request, deltas, "stop")
            message = reading.added_up(events)
            text = "".join(delta.text for delta in deltas)
            _check(request, message, text)
            ids = tuple(number for delta in deltas for number in delta.token_ids)
            whole = parser.read(Output(text, ids), request)
            assert reading.without_ids(whole) == reading.without_ids(message), text
            read += 1
        assert read >= _OUTPUTS // 2, "most outputs under the grammar come to no end"


def _check(request: Request, message: Message, text: str) -> None:
    calls = message.tool_calls
    assert not message.unparsed, f"what the grammar admits is not read: {text!r}"
    for call in calls:
        _valid(call, request, text)
    if not calls and request.content_schema is not None:
        _validate(message.content or "", request.content_schema)
    elif request.content_schema is not None:
        assert message.content is None, text
    if not request.calls_allowed:
        assert not calls, f"a call in free text: {text!r}"
    elif request.call_demanded:
        assert calls, f"no call in {text!r}"
        assert message.content is None, text
    if isinstance(request.tool_choice, Named) or not request.parallel_tool_calls:
        assert len(calls) <= 1, text
    if isinstance(request.tool_choice, Named):
        assert calls[0].name == request.tool_choice.name


def _valid(call: Call, request: Request, text: str) -> None:
    (tool,) = (tool for tool in request.tools if tool.name == call.name)
    assert (call.repairs, call.rest) == ((), ""), text
    if request.enforces(tool):
        assert call.outcome == "ok", text
        _validate(call.arguments, tool.parameters or {"type": "object", "maxProperties": 0})
    else:
        assert call.outcome in ("ok", "schema_violation"), text
        assert isinstance(json.loads(call.arguments), dict), text


def _validate(text: str, schema: Any) -> None:
    jsonschema: Any = importlib.import_module("jsonschema")
    jsonschema.validate(json.loads(text), schema)


@cache
def _sampling(name: str, tokens: bool) -> tuple[Parser, Sampler]:
    """The parser and a sampler for a vocabulary in which its markers are tokens, or text."""
    missing = [module for module in _NEEDED if importlib.util.find_spec(module) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)} (the extra [grammar], and jsonschema)")
    from toolglot.testing.sampling import Sampler, vocabulary

    tested = subject(name)
    texts = (*tested.markers.texts, tested.example, "Hello, what is the weather like? é 東京 🚀\n\n")
    tokenizer = vocabulary(texts, tested.markers.tokens if tokens else ())
    return load_parser(name, tokenizer=tokenizer), Sampler(tokenizer, (*tested.markers.texts, *tested.markers.tokens))
