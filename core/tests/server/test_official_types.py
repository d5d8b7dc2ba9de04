"""Every event of a stream has what the official clients' types require of it, and nothing that they do not know.

The clients themselves never look: they build their types from whatever comes, and a field that is missing fails later,
in the program that reads it. So the types are validated here, strictly.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import pytest
from anthropic.types import Message, RawMessageStreamEvent
from openai.types import Completion
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import BaseModel, TypeAdapter

from toolglot.errors import EngineError
from toolglot.server.operations import MESSAGE_EVENTS, RESPONSE_EVENTS

CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
MALFORMED = '<tool_call>\n{"name": "get_weather", "arguments": {"city": Oslo}}\n</tool_call>'
CUT = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Be'
SAID = f"<think>\nHm.\n</think>\n\nOn it. {CALL}\n{CALL}\nAnd: {MALFORMED}\nSo. {CUT}"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FUNCTION = {"name": "get_weather", "description": "The weather", "parameters": SCHEMA}
MESSAGES = [{"role": "user", "content": "Hi"}]
CHAT = {
    "messages": MESSAGES,
    "tools": [{"type": "function", "function": FUNCTION}],
    "logprobs": True,
    "top_logprobs": 2,
    "n": 2,
}
USAGE = {"stream_options": {"include_usage": True}}
RESPONSES = {
    "input": "Hi",
    "tools": [{"type": "function", "strict": False, **FUNCTION}],
    "include": ["message.output_text.logprobs", "reasoning.encrypted_content"],
    "top_logprobs": 2,
}
TURNS = {
    "messages": MESSAGES,
    "max_tokens": 500,
    "tools": [{"name": "get_weather", "description": "The weather", "input_schema": SCHEMA}],
}
TEXT = {"prompt": "Hi", "max_tokens": 500, "logprobs": 2, "n": 2}

OUTCOMES = {"stop": {"ok", "malformed"}, "length": {"ok", "malformed", "truncated"}}
ENDS = {"response.completed", "response.incomplete", "response.failed", "error"}
KINDS = {
    "/v1/chat/completions": {
        "role",
        "content",
        "reasoning_content",
        "tool_calls",
        "finish_reason",
        "logprobs",
        "usage",
    },
    "/v1/responses": {str(kind.__struct_config__.tag) for kind in get_args(RESPONSE_EVENTS)} - ENDS,
    "/v1/messages": {str(kind.__struct_config__.tag) for kind in get_args(MESSAGE_EVENTS)} - {"ping"}
    | {"text_delta", "thinking_delta", "signature_delta", "input_json_delta"},
}
"""What the streams hold: members that are not null, or types."""
UNTYPED = ("data: [DONE]", 'data: {"type":"ping"}')
"""What the clients skip."""
OURS = {
    "Choice": {"toolglot"},
    "Message": {"toolglot"},
    "Response": {"toolglot", "store"},
    "RawMessageDeltaEvent": {"toolglot"},
    "ChatCompletionMessage": {"reasoning_content", "reasoning"},
    "ChoiceDelta": {"reasoning_content", "reasoning"},
    "Logprob": {"bytes"},
    "LogprobTopLogprob": {"bytes"},
    "ResponseFunctionCallArgumentsDoneEvent": {"name"},
}
"""Members that the official types do not have."""


def events(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if line.startswith("data: ") and line not in UNTYPED:
            yield line.removeprefix("data: ")


def models(value: Any) -> Iterator[BaseModel]:
    """All models within a value."""
    if isinstance(value, BaseModel):
        yield value
        value = dict(value)
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for inner in value:
            yield from models(inner)


def unknown(value: Any) -> dict[str, set[str]]:
    """The members that the types do not have, by the type that they came in."""
    found: dict[str, set[str]] = {}
    for model in models(value):
        name = type(model).__name__
        if extra := set(model.model_extra or ()) - OURS.get(name, set()):
            found.setdefault(name, set()).update(extra)
    return found


def kinds(model: BaseModel) -> set[str]:
    """The type of an event or of a part of it, and the names of its members that are not null."""
    members = {name for name, value in model if value is not None}
    return {*members, str(getattr(model, "type", ""))}


def outcomes(value: Any) -> set[str]:
    """How the calls ended, of which the replies tell."""
    told = [(model.model_extra or {}).get("toolglot") for model in models(value)]
    return {call["outcome"] for one in told if one for call in one["calls"]}


@pytest.mark.parametrize("each", [1, 1000])
@pytest.mark.parametrize("finish", ["stop", "length"])
@pytest.mark.parametrize(
    ("path", "body", "event"),
    [
        ("/v1/chat/completions", {**CHAT, **USAGE}, ChatCompletionChunk),
        ("/v1/responses", RESPONSES, ResponseStreamEvent),
        ("/v1/messages", TURNS, RawMessageStreamEvent),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_streams(served, path, body, event, finish, each):
    served.engine.say(SAID, each=each, finish=finish)
    answer = served.http.post(path, json={"model": "scripted", "stream": True, **body})
    kind: TypeAdapter[Any] = TypeAdapter(event)
    found = [kind.validate_json(data, strict=True) for data in events(answer.text)]
    missing = KINDS[path] - {name for one in found for model in models(one) for name in kinds(model)}
    assert not missing, "the run has everything that is streamed"
    assert unknown(found) == {}
    assert outcomes(found) == OUTCOMES[finish]


@pytest.mark.parametrize("finish", ["stop", "length"])
@pytest.mark.parametrize(
    ("path", "body", "kind"),
    [
        ("/v1/chat/completions", CHAT, ChatCompletion),
        ("/v1/completions", TEXT, Completion),
        ("/v1/responses", RESPONSES, Response),
        ("/v1/messages", TURNS, Message),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_whole_replies(served, path, body, kind, finish):
    served.engine.say(SAID, finish=finish)
    answer = served.http.post(path, json={"model": "scripted", **body})
    found = kind.model_validate_json(answer.content, strict=True)
    assert unknown(found) == {}
    assert outcomes(found) == (set() if kind is Completion else OUTCOMES[finish])


@pytest.mark.parametrize("fields", [{"finish": "stop"}, {"finish": "length"}, {"error": EngineError("out of memory")}])
def test_the_ends_of_a_response(served, fields):
    served.engine.say("Hi", **fields)
    answer = served.http.post("/v1/responses", json={"model": "scripted", "stream": True, "input": "Hi"})
    kind: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
    ends = [kind.validate_json(data, strict=True).type for data in events(answer.text)][-2:]
    assert (
        ENDS & set(ends)
        == {
            "stop": {"response.completed"},
            "length": {"response.incomplete"},
            None: {"error", "response.failed"},
        }[fields.get("finish")]
    )
