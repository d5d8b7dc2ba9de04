"""Requests that are refused, and replies that fail: every one in Anthropic's own body."""

from __future__ import annotations

import json
from contextlib import suppress

import anthropic
import httpx
import pytest

from toolglot.errors import EngineError, RequestError
from toolglot.server.messages import reading

HI = {"role": "user", "content": "Hi"}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}
FAILED = {"type": "api_error", "message": "out of memory", "details": {"error_code": "engine_error"}}
LIST = {"type": "object", "properties": {"n": {"type": "array", "uniqueItems": True}}}


def user(*blocks):
    return [{"role": "user", "content": list(blocks)}]


def result(*blocks):
    return {"type": "tool_result", "tool_use_id": "1", "content": list(blocks)}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"max_tokens": ...}, "`max_tokens`"),
        ({"max_tokens": 0}, "`max_tokens`"),
        ({"model": ...}, "`model`"),
        ({"messages": ...}, "`messages`"),
        ({"messages": []}, "`messages` is empty"),
        ({"messages": "Hi"}, "`messages`"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "invalid value 'tool' at `messages[0].role`"),
        ({"messages": [HI, {"role": "user"}]}, "missing required field `content` at `messages[1].content`"),
        ({"messages": [{"role": "user", "content": 3}]}, "messages[0]"),
        ({"messages": user(IMAGE)}, "a block of type 'image' cannot be served at `messages[0].content[0]`"),
        ({"messages": user({"type": "document"})}, "'document' cannot be served at `messages[0].content[0]`"),
        ({"messages": user(result(IMAGE))}, "'image' cannot be served at `messages[0].content[0].content[0]`"),
        ({"messages": user({"text": "Hi"})}, "a block of type None"),
        ({"messages": user({"type": ["text"]})}, "a block of type ['text']"),
        ({"messages": user({"type": "text"})}, "missing required field `text` at `messages[0].content[0].text`"),
        ({"messages": user({"type": "tool_use", "id": "1", "name": "f", "input": {}})}, "'tool_use' cannot be served"),
        ({"messages": [HI, {"role": "assistant", "content": [result()]}]}, "'tool_result' cannot be served"),
        ({"messages": [HI, {"role": "assistant", "content": "The"}]}, "prefill"),
        ({"system": [IMAGE]}, "'image' cannot be served at `system[0]`"),
        ({"system": 3}, "`system`"),
        ({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, "'web_search_20250305' cannot be served"),
        ({"tools": [{"type": ["custom"]}]}, "the tool ['custom'] cannot be served at `tools[0]`"),
        (
            {"messages": user(result({"text": 1}))},
            "a block of type None cannot be served at `messages[0].content[0].con",
        ),
        ({"tools": [{"name": "f"}]}, "missing required field `input_schema` at `tools[0].input_schema`"),
        ({"tools": [{"name": "f g", "input_schema": {}}]}, "'f g' is no name for a tool"),
        ({"tools": [{"name": "f", "input_schema": {"type": "string"}}]}, "tools[0].input_schema"),
        ({"tools": [{"name": "f", "input_schema": {}}] * 2}, "two tools are named 'f'"),
        ({"tools": [{"name": "f", "input_schema": {}, "allowed_callers": ["x"]}]}, "tools[0].allowed_callers"),
        ({"tool_choice": {"type": "any"}}, "`tool_choice` needs `tools`"),
        ({"tool_choice": {"type": "some"}}, "`tool_choice.type`"),
        ({"tool_choice": "auto"}, "`tool_choice`"),
        ({"tools": [{"name": "f", "input_schema": {}}], "tool_choice": {"type": "tool"}}, "`name`"),
        ({"tools": [{"name": "f", "input_schema": {}}], "tool_choice": {"type": "tool", "name": "g"}}, "'g'"),
        ({"stop_sequences": [""]}, "`stop_sequences"),
        ({"temperature": -1}, "`temperature`"),
        ({"thinking": {"type": "maybe"}}, "`thinking.type`"),
        ({"container": "c"}, "`container` is not supported"),
        ({"thread": {"type": "create"}}, "`thread` is not supported"),
        ({"compaction": {}}, "`compaction` is not supported"),
        ({"mcp_servers": [{"type": "url"}]}, "`mcp_servers` is not supported"),
        ({"output_config": {"format": {"type": "json_schema"}}}, "`output_config.format.schema`"),
    ],
)
def test_what_cannot_be_served_is_named(api, fields, words):
    api.engine.say("ok")
    error = api.error(400, **fields)
    assert error["type"] == "invalid_request_error"
    assert words in error["message"]
    assert api.engine.prompts == []


def test_a_strict_tool_that_cannot_be_held_to_is_named_by_its_field(api):
    error = api.error(400, tools=[{"name": "f", "input_schema": LIST, "strict": True}])
    assert error["message"].startswith("tools[0].input_schema: ")


def test_an_output_format_that_cannot_be_held_to_is_named_by_its_field(api):
    error = api.error(400, output_config={"format": {"type": "json_schema", "schema": LIST}})
    assert error["message"].startswith("output_config.format.schema: `output_config.format` is strict")


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"model": "\xff"}', b"[" * 5000])
def test_what_is_no_request_is_refused(api, body):
    for path in ("/v1/messages", "/v1/messages/count_tokens"):
        response = api.served.http.post(path, content=body)
        assert response.status_code == 400
        assert response.json()["error"]["type"] == "invalid_request_error"


def test_another_model_is_not_found(api):
    assert api.error(404, model="claude")["type"] == "not_found_error"
    assert api.post("/v1/messages/count_tokens", max_tokens=..., model="claude").status_code == 404


def test_paths_and_methods_that_there_are_not(api):
    for method, path, status in (("GET", "/v1/messages", 405), ("POST", "/v1/messages/batches", 404)):
        response = api.served.http.request(method, path)
        assert (response.status_code, response.json()["type"]) == (status, "error")


def test_a_prompt_that_is_too_long(api):
    error = api.error(400, messages=[{"role": "user", "content": "x" * 6001}])
    assert "6000" in error["message"]


def test_a_body_that_is_too_large(apis):
    api = apis(max_body_bytes=1000)
    error = api.error(413, messages=[{"role": "user", "content": "x" * 1000}])
    assert error["type"] == "request_too_large"


def test_a_full_queue_is_overload(api):
    api.engine.say("ok")
    api.engine.full = True
    assert api.error(529)["type"] == "overloaded_error"
    assert api.post().headers["retry-after"] == "3"


def test_an_engine_that_fails_before_the_first_token(api):
    api.engine.say("", error=EngineError("out of memory"))
    assert api.error(500) == FAILED


def test_an_engine_that_fails_in_the_stream(api):
    api.engine.say("abc", error=EngineError("out of memory"))
    events = api.events()
    assert events[-1]["error"] == FAILED
    assert events[-1]["request_id"].startswith("req_")
    with (
        pytest.raises(anthropic.APIError, match="out of memory"),
        api.sdk.messages.stream(model="scripted", max_tokens=50, messages=[HI]) as stream,
    ):
        stream.until_done()


class TestKeys:
    @pytest.mark.parametrize("headers", [{}, {"x-api-key": "wrong"}, {"Authorization": "Bearer wrong"}])
    @pytest.mark.parametrize("path", ["/v1/messages", "/v1/messages/count_tokens"])
    def test_a_wrong_key_or_none(self, apis, path, headers):
        api = apis(api_keys=("secret",))
        response = httpx.post(api.served.url + path, json={}, headers=headers)
        assert response.status_code == 401
        assert response.json()["error"]["type"] == "authentication_error"
        assert response.json()["request_id"] == response.headers["request-id"]

    @pytest.mark.parametrize("headers", [{"x-api-key": "secret"}, {"Authorization": "Bearer secret"}])
    def test_either_header_will_do(self, apis, headers):
        api = apis(api_keys=("secret",))
        api.engine.say("ok")
        body = {"model": "scripted", "max_tokens": 5, "messages": [HI]}
        assert httpx.post(f"{api.served.url}/v1/messages", json=body, headers=headers).status_code == 200

    def test_the_sdk_is_told(self, apis):
        api = apis(api_keys=("secret",))
        wrong = api.sdk.with_options(api_key="wrong")
        with pytest.raises(anthropic.AuthenticationError) as caught:
            wrong.messages.create(model="scripted", max_tokens=5, messages=[HI])
        assert caught.value.type == "authentication_error"
        assert caught.value.request_id == json.loads(caught.value.response.content)["request_id"]


@pytest.mark.parametrize("headers", [{}, {"anthropic-version": "2023-06-01", "anthropic-beta": "x,y"}])
def test_the_versions_header_is_taken_and_not_needed(api, headers):
    api.engine.say("ok")
    body = {"model": "scripted", "max_tokens": 5, "messages": [HI]}
    response = api.served.http.post("/v1/messages?beta=true", json=body, headers=headers)
    assert response.status_code == 200
    assert response.headers["request-id"]


def test_a_client_that_leaves_stops_the_reply(api):
    api.engine.say("x" * 500, delay=0.01)
    body = {"model": "scripted", "max_tokens": 5000, "messages": [HI], "stream": True}
    with api.served.http.stream("POST", "/v1/messages", json=body) as response:
        next(response.iter_bytes())
    api.served.wait_idle()
    assert api.engine.yielded < 500


FULL = {
    "model": "scripted",
    "max_tokens": 5,
    "system": [{"type": "text", "text": "s"}],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "x", "signature": ""},
                {"type": "redacted_thinking", "data": ""},
                {"type": "tool_use", "id": "1", "name": "f", "input": {"a": 1}},
            ],
        },
        {"role": "user", "content": [{**result({"type": "text", "text": "r"}), "is_error": True}]},
    ],
    "tools": [
        {
            "name": "f",
            "description": "d",
            "input_schema": {"type": "object", "properties": {"a": {"type": "integer"}}},
            "input_examples": [{"a": 1}],
            "allowed_callers": ["direct"],
            "strict": True,
        }
    ],
    "tool_choice": {"type": "tool", "name": "f", "disable_parallel_tool_use": True},
    "thinking": {"type": "enabled", "budget_tokens": 3, "display": "omitted"},
    "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": {}}},
    "stop_sequences": ["x"],
    "temperature": 1,
    "metadata": {"user_id": "u"},
}
ODD = [None, True, 0, -1, 1e308, 2**70, "", "x", [], {}, [None], [[]], {"type": "text"}, {"type": None}, "text"]


def paths(value, at=()):
    """The place of everything in a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(path for key, child in inner for path in paths(child, (*at, key)))]


def changed(value, path, other):
    """The value with another one in that place; Ellipsis takes it out."""
    if not path:
        return other
    key, *rest = path
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[key] = changed(value[key], rest, other)
    if copy[key] is ...:
        del copy[key]
    return copy


@pytest.mark.parametrize("path", paths(FULL)[1:], ids=str)
def test_whatever_stands_in_a_field_the_request_is_read_or_refused(path):
    for other in [..., *ODD]:
        body = json.dumps(changed(FULL, path, other)).encode()
        for read, ask in ((reading.read, reading.ask), (reading.read_count, reading.prompt_ask)):
            with suppress(RequestError):
                ask(read(body))
