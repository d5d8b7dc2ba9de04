"""``/openapi.json``: it has every route, and what the server really sends is as it says."""

from __future__ import annotations

import json
import re

import jsonschema
import pytest
from starlette.routing import Route

from toolglot.server.openapi import document
from toolglot.server.operations import OPERATIONS

HI = {"model": "scripted", "messages": [{"role": "user", "content": "Hi"}]}
CALL = '<think>hm</think>Well.\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'


@pytest.fixture(scope="module")
def described():
    return json.loads(json.dumps(document(OPERATIONS, ["scripted"], asks_for_key=False)))


def test_it_is_served_and_asks_for_the_key(serving, served, described):
    assert served.http.get("/openapi.json").json() == described
    locked = serving(api_keys=("sesame", "open"))
    assert locked.http.get("/openapi.json", headers={"Authorization": ""}).status_code == 401
    paths = locked.http.get("/openapi.json").json()["paths"]
    assert paths["/v1/chat/completions"]["post"]["security"] == [{"bearer": []}, {"x-api-key": []}]
    assert "security" not in paths["/health"]["get"]


def test_every_route_is_in_it_and_nothing_else(served, described):
    routes = {
        (re.sub(r":\w+\}", "}", route.path), method.lower())
        for route in served.app.routes
        if isinstance(route, Route) and route.path != "/openapi.json"
        for method in (route.methods or {"GET"}) - {"HEAD"}
    }
    assert {(path, method) for path, methods in described["paths"].items() for method in methods} == routes


def test_every_reference_leads_somewhere(described):
    schemas = described["components"]["schemas"]
    references = re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(described))
    assert references
    assert set(references) <= schemas.keys()
    for name, schema in schemas.items():
        assert re.fullmatch(r"[\w.-]+", name)
        jsonschema.Draft202012Validator.check_schema(schema)


@pytest.fixture
def valid(described):
    """Checks a value against what the operation says it answers."""

    def check(value, path, method="post", media="application/json", status="200"):
        content = described["paths"][path][method]["responses"][status]["content"]
        schema = content[media]["schema"]
        if media == "text/event-stream":
            data = schema["properties"]["data"]
            schema = next(one["contentSchema"] for one in data.get("anyOf", [data]) if "contentSchema" in one)
        jsonschema.Draft202012Validator({**described, **schema}).validate(value)

    return check


def events(text):
    lines = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


BODIES = {
    "/v1/chat/completions": {**HI, "logprobs": True, "top_logprobs": 2},
    "/v1/completions": {"model": "scripted", "prompt": "Hi", "logprobs": 1},
    "/v1/responses": {"model": "scripted", "input": "Hi"},
    "/v1/messages": {**HI, "max_tokens": 500},
}
OTHERS = {
    "/v1/messages/count_tokens": HI,
    "/v1/responses/input_tokens": {"model": "scripted", "input": "Hi"},
    "/tokenize": {"prompt": "Hi", "model": "scripted"},
    "/detokenize": {"tokens": [1, 2], "model": "scripted"},
    "/v1/toolglot/parse": {"text": CALL, "chunks": 3},
}


@pytest.mark.parametrize("path", [*BODIES, *OTHERS])
def test_answers_are_as_described(served, valid, path):
    served.engine.say(CALL)
    answer = served.http.post(path, json={**BODIES, **OTHERS}[path])
    assert answer.status_code == 200, answer.text
    valid(answer.json(), path)


@pytest.mark.parametrize("path", BODIES)
def test_so_are_the_events_of_streams(served, valid, path):
    served.engine.say(CALL)
    answer = served.http.post(path, json={**BODIES[path], "stream": True})
    found = events(answer.text)
    assert len(found) > 5
    for event in found:
        valid(event, path, media="text/event-stream")


@pytest.mark.parametrize("path", [*BODIES, *OTHERS])
def test_so_are_errors(served, valid, path):
    answer = served.http.post(path, json=[])
    assert answer.status_code == 400
    valid(answer.json(), path, status="default")


def test_so_are_the_small_routes(served, valid):
    for path in ("/v1/models", "/health", "/ready", "/version"):
        valid(served.http.get(path).json(), path, "get")
    for headers in ({}, {"anthropic-version": "2023-06-01"}):
        valid(served.http.get("/v1/models", headers=headers).json(), "/v1/models", "get")
        valid(served.http.get("/v1/models/scripted", headers=headers).json(), "/v1/models/{name}", "get")


def test_it_says_which_models_there_are(serving):
    served = serving(served_model_names=("org/big", "big"))
    schemas = served.http.get("/openapi.json").json()["components"]["schemas"]
    assert schemas["ChatRequest"]["properties"]["model"]["enum"] == ["org/big", "big"]


@pytest.fixture
def admits(described):
    """Whether the description of an operation admits a body."""

    def check(path, body):
        schema = described["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
        return jsonschema.Draft202012Validator({**described, **schema}).is_valid(body)

    return check


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"model": "other"},
        {"temperature": 0.5},
        {"temperature": 3},
        {"n": 0},
        {"stream": "yes"},
        {"top_k": None},
    ],
)
def test_bodies_that_are_described_are_read_and_no_others(served, admits, fields):
    served.engine.say("Hi")
    accepted = served.post(**fields).status_code == 200
    assert admits("/v1/chat/completions", {**HI, **fields}) is accepted


def call(**fields):
    return {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}, **fields}


@pytest.mark.parametrize(
    "message",
    [
        {"role": "system", "content": "Be kind."},
        {"role": "developer", "content": [{"type": "text", "text": "Be kind."}], "name": None},
        {"role": "user", "content": "Hi", "name": "Ann"},
        {"role": "user", "content": "Hi", "name": 3},
        {"role": "user", "content": None},
        {"role": "user"},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://127.0.0.1/a.png"}}]},
        {"role": "user", "content": [{"type": "text"}]},
        {"role": "user", "content": [{"text": "Hi"}]},
        {"role": "user", "content": ["Hi"]},
        {"role": "tool", "content": "3", "tool_call_id": "1"},
        {"role": "tool", "content": "3"},
        {"role": "assistant", "content": None, "tool_calls": [call()], "refusal": None, "audio": None},
        {"role": "assistant", "tool_calls": [call(function={"name": "f", "arguments": {"a": 2**70}})]},
        {"role": "assistant", "tool_calls": [call(function={"name": "f"})]},
        {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": None}}]},
        {"role": "assistant", "tool_calls": [call(function={"name": ""})]},
        {"role": "assistant", "tool_calls": [call(function={"name": "f", "arguments": 3})]},
        {"role": "assistant", "tool_calls": [call(type="custom")]},
        {"role": "assistant", "tool_calls": [call(type=None)]},
        {"role": "assistant", "tool_calls": [call(id=1)]},
        {"role": "assistant", "tool_calls": ["f"]},
        {"role": "assistant", "tool_calls": {}},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}, {"type": "text", "text": "Bye."}]},
        {"role": "assistant", "content": [{"type": "refusal"}]},
        {"role": "assistant", "content": None, "refusal": "No."},
        {"role": "assistant", "content": "Yes.", "refusal": 3},
        {"role": "user", "content": [{"type": "refusal", "refusal": "No."}]},
        {"role": "assistant", "reasoning_content": "Hm", "reasoning": "Hm", "function_call": None},
        {"role": "assistant", "reasoning": 3},
        {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "3"},
        {"role": "wizard", "content": "Hi"},
        {"content": "Hi"},
        "Hi",
    ],
    ids=lambda message: json.dumps(message)[-60:],
)
def test_so_are_the_turns_of_a_chat(served, admits, message):
    served.engine.say("Hi")
    body = {**HI, "messages": [message]}
    accepted = served.post(json.dumps(body).encode()).status_code == 200
    assert admits("/v1/chat/completions", body) is accepted
    assert admits("/tokenize", body) is accepted
    assert (served.http.post("/tokenize", json=body).status_code == 200) is accepted


@pytest.mark.parametrize(
    "choice",
    [
        None,
        "auto",
        "none",
        "required",
        "always",
        3,
        [],
        {},
        {"type": "function", "function": {"name": "f"}},
        {"type": "function", "function": {}},
        {"type": "function"},
        {"function": {"name": "f"}},
        {"type": "function", "name": "f"},
        {"name": "f"},
        {"type": "custom", "name": "f"},
        {"type": "allowed_tools"},
        *(
            form
            for tools in ([], ["f"], [{}], [{"name": "f"}], [{"type": "function", "function": {"name": "f"}}])
            for mode in ("auto", "sometimes")
            for allowed in ({"mode": mode, "tools": tools},)
            for form in ({"type": "allowed_tools", **allowed}, {"type": "allowed_tools", "allowed_tools": allowed})
        ),
    ],
    ids=json.dumps,
)
def test_so_are_tool_choices(served, admits, choice):
    served.engine.say(CALL.replace("get_weather", "f"))
    chat = {**HI, "tools": [{"type": "function", "function": {"name": "f"}}], "tool_choice": choice}
    assert (served.post(json.dumps(chat).encode()).status_code != 400) is admits("/v1/chat/completions", chat)
    body = {"model": "scripted", "input": "Hi", "tools": [{"type": "function", "name": "f"}], "tool_choice": choice}
    accepted = served.http.post("/v1/responses/input_tokens", json=body).status_code == 200
    assert accepted is admits("/v1/responses", body)
    assert accepted is admits("/v1/responses/input_tokens", body)


@pytest.mark.parametrize("kind", [..., "function", "custom", None, 3])
def test_so_are_the_types_of_tools(served, admits, kind):
    served.engine.say("Hi")
    tagged = {} if kind is ... else {"type": kind}
    chat = {**HI, "tools": [{**tagged, "function": {"name": "f"}}]}
    assert (served.post(json.dumps(chat).encode()).status_code == 200) is admits("/v1/chat/completions", chat)
    body = {"model": "scripted", "input": "Hi", "tools": [{**tagged, "name": "f"}]}
    accepted = served.http.post("/v1/responses/input_tokens", json=body).status_code == 200
    assert accepted is admits("/v1/responses/input_tokens", body)


def turn(*blocks, role="user"):
    return {
        "messages": [{"role": "user", "content": "Hi"}] * (role == "assistant") + [{"role": role, "content": blocks}]
    }


TEXT = {"type": "text", "text": "Hi"}
USE = {"type": "tool_use", "id": "1", "name": "f", "input": {}}
IMAGE = {"type": "image", "source": {"type": "url", "url": "http://127.0.0.1/a.png"}}


def result(**fields):
    return {"type": "tool_result", "tool_use_id": "1", **fields}


@pytest.mark.parametrize(
    "fields",
    [
        turn(TEXT, {**TEXT, "cache_control": {"type": "ephemeral"}, "citations": None}),
        turn(IMAGE),
        turn({"type": "text"}),
        turn({"text": "Hi"}),
        turn(USE),
        turn(result()),
        turn(result(content="3", is_error=True)),
        turn(result(content=[TEXT])),
        turn(result(content=[IMAGE])),
        turn({"type": "tool_result"}),
        turn(USE, {"type": "thinking", "thinking": "Hm", "signature": ""}, role="assistant"),
        turn({"type": "redacted_thinking", "data": "x"}, role="assistant"),
        turn({**USE, "name": ""}, role="assistant"),
        turn(result(), role="assistant"),
        turn(TEXT, role="system"),
        turn(USE, role="system"),
        turn(TEXT, role="tool"),
        {"messages": [{"role": "user"}]},
        {"messages": [{"content": "Hi"}]},
        {"messages": ["Hi"]},
        {"system": "Be kind."},
        {"system": [TEXT]},
        {"system": [IMAGE]},
        {"system": [{"text": "Be kind."}]},
        turn({"text": "Be kind."}, role="system"),
        turn(result(content=[{"text": "3"}])),
        {"tools": [{"name": "f", "input_schema": {}}]},
        {"tools": [{"name": "f", "input_schema": {}, "type": "custom", "defer_loading": False}]},
        {"tools": [{"name": "f"}]},
        {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
        {"tool_choice": {"type": "auto"}},
        {"tool_choice": {"type": "none"}},
        {"tool_choice": {"type": "tool"}},
        {"tool_choice": {"type": "auto", "disable_parallel_tool_use": "yes"}},
        {"tool_choice": {"type": "some"}},
        {"tool_choice": "auto"},
    ],
    ids=lambda fields: json.dumps(fields)[-60:],
)
def test_so_are_the_turns_and_tools_of_messages(served, admits, fields):
    body = {**HI, **json.loads(json.dumps(fields))}
    answer = served.http.post("/v1/messages/count_tokens", json=body)
    assert (answer.status_code == 200) is admits("/v1/messages/count_tokens", body), answer.text
    assert admits("/v1/messages", {**body, "max_tokens": 5}) is admits("/v1/messages/count_tokens", body)
