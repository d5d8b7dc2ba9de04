"""What a client does wrong is told in OpenAI's error body, and never costs more than that request."""

from __future__ import annotations

import json
import re

import openai
import pytest

from toolglot.prompts import PromptRenderer
from toolglot.server import lanes

MESSAGES = [{"role": "user", "content": "Hi"}]
DEEP = 150


def function(name="f", **fields):
    return {"type": "function", "function": {"name": name, **fields}}


def allowed(mode, *names):
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": [function(name) for name in names]}}


def nested(depth):
    value = {}
    for _ in range(depth):
        value = {"a": value}
    return value


@pytest.fixture(autouse=True)
def still_serves(served):
    """After each bad request a good one works."""
    yield
    served.engine.say("fine")
    served.engine.scripts = served.engine.scripts[-1:]
    assert served.post().json()["choices"][0]["message"]["content"] == "fine"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'"text"',
        b'{"model": "scripted", "messages": [{"role": "user", "content": "\xff"}]}',
        b'{"model": "scripted", "messages": [{"role": "user", "content": "\\ud800"}]}',
        b'{"model": "scripted", "messages": [], "temperature": NaN}',
        b'{"model": "scripted", "messages": [], "temperature": 1e999}',
        b'{"model": "scripted", "messages": [], "seed": 1' + b"0" * 5000 + b"}",
        b'{"model": "scripted", "messages": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"model": "scripted"} and more',
    ],
    ids=lambda body: repr(body[-30:]),
)
def test_a_body_that_is_no_json_object(served, body):
    response = served.post(body)
    assert response.status_code == 400
    assert response.json()["error"].keys() == {"message", "type", "param", "code"}
    assert response.json()["error"]["type"] == "invalid_request_error"


def test_half_a_surrogate_pair_is_not_called_a_truncated_body(served):
    body = b'{"model": "scripted", "messages": [{"role": "user", "content": "\\ud800"}]}'
    assert "half a surrogate pair" in served.post(body).json()["error"]["message"]


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"model": None}, "model"),
        ({"model": 1}, "model"),
        ({"messages": None}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": "Hi"}, "messages"),
        ({"messages": ["Hi"]}, "messages[0]"),
        ({"messages": [{"role": "wizard", "content": "Hi"}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": 1}]}, "messages[0].content"),
        ({"tools": []}, "tools"),
        ({"tools": {}}, "tools"),
        ({"tools": ["f"]}, "tools[0]"),
        ({"tools": [{"type": "function"}]}, "tools[0].function"),
        ({"tools": [{"type": "function", "function": None}]}, "tools[0].function"),
        ({"tools": [{"type": "function", "function": {}}]}, "tools[0].function.name"),
        ({"tools": [{"type": "custom", "custom": {"name": "f"}}]}, "tools[0].type"),
        ({"tools": [function("")]}, "tools[0].function.name"),
        ({"tools": [function(1)]}, "tools[0].function.name"),
        ({"tools": [function("two words")]}, "tools[0].function.name"),
        ({"tools": [function("<tool_call>")]}, "tools[0].function.name"),
        ({"tools": [function("f\n")]}, "tools[0].function.name"),
        ({"tools": [function("x" * 129)]}, "tools[0].function.name"),
        ({"tools": [function("f"), function("g"), function("f")]}, "tools[2].function.name"),
        ({"tools": [function(parameters=[])]}, "tools[0].function.parameters"),
        ({"tools": [function(parameters="x")]}, "tools[0].function.parameters"),
        ({"tools": [function(description=1)]}, "tools[0].function.description"),
        ({"tools": [function(strict="yes")]}, "tools[0].function.strict"),
        ({"tools": [function()], "tool_choice": "always"}, "tool_choice"),
        ({"tools": [function()], "tool_choice": 1}, "tool_choice"),
        ({"tools": [function()], "tool_choice": {}}, "tool_choice.function"),
        ({"tools": [function()], "tool_choice": {"type": "function", "function": {}}}, "tool_choice.function.name"),
        ({"tools": [function()], "tool_choice": function("g")}, "tool_choice"),
        ({"tools": [function()], "tool_choice": {"type": "custom", "custom": {"name": "f"}}}, "tool_choice.type"),
        ({"tools": [function()], "tool_choice": {"type": "allowed_tools"}}, "tool_choice.allowed_tools"),
        ({"tools": [function()], "tool_choice": allowed("sometimes", "f")}, "tool_choice.allowed_tools.mode"),
        ({"tools": [function()], "tool_choice": allowed("auto")}, "tool_choice.allowed_tools.tools"),
        (
            {"tools": [function()], "tool_choice": allowed("auto", "f", "g")},
            "tool_choice.allowed_tools.tools[1].function.name",
        ),
        ({"tool_choice": allowed("auto", "f")}, "tool_choice.allowed_tools.tools[0].function.name"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"tool_choice": function("f")}, "tool_choice"),
        ({"parallel_tool_calls": "no"}, "parallel_tool_calls"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": -1}, "max_tokens"),
        ({"max_tokens": 1.5}, "max_tokens"),
        ({"max_tokens": 10**30}, "max_tokens"),
        ({"max_completion_tokens": 0}, "max_completion_tokens"),
        ({"temperature": -1}, "temperature"),
        ({"temperature": 2.5}, "temperature"),
        ({"temperature": "hot"}, "temperature"),
        ({"temperature": True}, "temperature"),
        ({"top_p": 0}, "top_p"),
        ({"top_p": 1.1}, "top_p"),
        ({"top_k": -2}, "top_k"),
        ({"top_k": 10**30}, "top_k"),
        ({"min_p": 2}, "min_p"),
        ({"seed": 10**30}, "seed"),
        ({"seed": "1"}, "seed"),
        ({"stop": ""}, "stop"),
        ({"stop": ["a", ""]}, "stop[1]"),
        ({"stop": [1]}, "stop[0]"),
        ({"stop": ["a"] * 33}, "stop"),
        ({"stop": {}}, "stop"),
        ({"chat_template_kwargs": []}, "chat_template_kwargs"),
        ({"reasoning_effort": 1}, "reasoning_effort"),
        ({"n": 0}, "n"),
        ({"n": 17}, "n"),
        ({"n": True}, "n"),
        ({"best_of": 2}, "best_of"),
        ({"logprobs": 0}, "logprobs"),
        ({"logprobs": True, "top_logprobs": 21}, "top_logprobs"),
        ({"top_logprobs": 3}, "top_logprobs"),
        ({"logit_bias": {"one": 2}}, "logit_bias"),
        ({"logit_bias": {"1": 101}}, None),
        ({"logit_bias": {"99999": 1}}, "logit_bias"),
        ({"logit_bias": []}, "logit_bias"),
        ({"presence_penalty": 2.5}, "presence_penalty"),
        ({"frequency_penalty": -3}, "frequency_penalty"),
        ({"repetition_penalty": 0}, "repetition_penalty"),
        ({"stop_token_ids": [-1]}, "stop_token_ids[0]"),
        ({"stop_token_ids": [99999]}, "stop_token_ids"),
        ({"min_tokens": -1}, "min_tokens"),
        ({"min_tokens": 3, "max_tokens": 2}, "min_tokens"),
        ({"return_token_ids": 1}, "return_token_ids"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages[0].content[0].type"),
        ({"messages": [{"role": "user", "content": [{"type": "input_audio"}]}]}, "messages[0].content[0].type"),
        ({"messages": [{"role": "user", "content": [{"type": "file"}]}]}, "messages[0].content[0].type"),
        ({"functions": [{"name": "f"}]}, "functions"),
        ({"function_call": "auto"}, "function_call"),
        ({"modalities": ["text", "audio"]}, "modalities"),
        ({"audio": {"voice": "alloy"}}, "audio"),
    ],
    ids=lambda value: json.dumps(value)[:60] if isinstance(value, dict) else "",
)
def test_a_bad_field_is_named(served, fields, param):
    error = served.error(400, **fields)
    assert error["type"] == "invalid_request_error"
    assert param is None or error["param"] == param
    assert error["message"]


def test_stream_options_go_with_a_stream(served):
    response = served.post(stream_options={"include_usage": True})
    assert (response.status_code, response.json()["error"]["param"]) == (400, "stream_options")


@pytest.mark.parametrize(
    "fields",
    [
        {"user": "me", "metadata": {"a": "b"}, "store": True, "service_tier": "auto"},
        {"safety_identifier": "me", "prompt_cache_key": "a", "verbosity": "low", "prediction": {"type": "content"}},
        {"n": 1, "logprobs": False, "top_logprobs": 0, "logit_bias": {}, "modalities": ["text"]},
        {"presence_penalty": 0, "frequency_penalty": 0.0, "response_format": {"type": "text"}},
        {"n": None, "logprobs": None, "logit_bias": None, "response_format": None, "tools": None, "stop": None},
        {"a_field_of_tomorrow": {"x": 1}},
    ],
    ids=lambda fields: ",".join(fields),
)
def test_what_changes_nothing_is_accepted(served, fields):
    served.engine.say("Hi")
    assert served.both(**fields).content == "Hi"


def test_an_unknown_model_is_not_found(served):
    with pytest.raises(openai.NotFoundError) as caught:
        served.client.chat.completions.create(model="gpt-4o", messages=MESSAGES)
    assert (caught.value.code, caught.value.param) == ("model_not_found", "model")
    assert "scripted" in str(caught.value)


def test_a_prompt_that_is_too_long(served):
    error = served.error(400, messages=[{"role": "user", "content": "x" * 6000}])
    assert (error["param"], error["code"]) == ("messages", "context_length_exceeded")
    assert "6000" in error["message"]


@pytest.mark.parametrize("text", ["x" * 3_000_000, "\N{SNOWMAN}" * 30_000])  # tokens are of bytes
def test_messages_that_fit_no_prompt_are_refused_before_they_are_rendered(served, monkeypatch, text):
    monkeypatch.setattr(PromptRenderer, "render", None)
    error = served.error(400, messages=[{"role": "user", "content": text}])
    assert (error["param"], error["code"]) == ("messages", "context_length_exceeded")


def test_tools_that_fit_no_prompt_are_refused_before_they_are_rendered(served, monkeypatch):
    monkeypatch.setattr(PromptRenderer, "render", None)
    function = {"name": "f", "description": "x" * 3_000_000}
    error = served.error(400, tools=[{"type": "function", "function": function}])
    assert (error["param"], error["code"]) == ("tools", "context_length_exceeded")


@pytest.mark.parametrize("text", ["x" * 70_000, "<|im_end|>" * 7_000])
def test_a_prompt_that_is_far_too_long_is_not_counted_to_its_end(served, text):
    error = served.error(400, messages=[{"role": "user", "content": text}])
    assert (error["param"], error["code"]) == ("messages", "context_length_exceeded")
    told = re.fullmatch(r"the prompt has at least (\d+) tokens; this model takes 6000 for .*", error["message"])
    assert 6000 < int(told[1]) <= 70_020
    assert served.engine.prompts == []


def test_too_many_prompts_at_once_are_a_full_queue(served, monkeypatch):
    monkeypatch.setattr(lanes, "_MOST_WAITING", 0)
    assert served.error(429, messages=MESSAGES)["code"] == "queue_full"


@pytest.mark.parametrize("param", ["max_tokens", "max_completion_tokens"])
def test_a_reply_that_would_be_too_long(served, param):
    error = served.error(400, **{param: 6000})
    assert (error["param"], error["code"]) == (param, "context_length_exceeded")


@pytest.mark.parametrize("choice", ["auto", "required"])
def test_a_schema_that_does_not_compile_costs_its_own_request_only(served, weather, choice):
    weather["function"] |= {"strict": True}
    weather["function"]["parameters"]["properties"]["city"]["pattern"] = "(("
    error = served.error(400, tools=[weather], tool_choice=choice)
    assert (error["param"], error["code"]) == ("tools[0].function.parameters", "invalid_schema")
    assert served.engine.prompts == []


def test_a_schema_that_is_none_is_named_with_its_place(served):
    tools = [function("fine"), function(parameters={"type": "object", "properties": []}, strict=True)]
    error = served.error(400, tools=tools, tool_choice="required")
    assert error["param"] == "tools[1].function.parameters"
    assert "/properties: an object of schemas is wanted, not list" in error["message"]


def test_a_template_that_refuses_the_conversation(served):
    error = served.error(400, chat_template_kwargs={"effort": "none"})
    assert "effort none" in error["message"]


@pytest.mark.parametrize(
    "fields",
    [
        {"messages": [{"role": "user", "content": nested(DEEP)}]},
        {"tools": [function(parameters=nested(DEEP))]},
        {"metadata": nested(DEEP)},
        {"chat_template_kwargs": nested(DEEP)},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_deep_nesting_is_refused(served, fields):
    assert "nested" in served.error(400, **fields)["message"]


@pytest.mark.parametrize("strict", [False, True])
def test_nesting_up_to_the_limit_is_served(served, strict):
    served.engine.say("Hi")
    tool = function(parameters={"type": "object", "properties": nested(80)}, strict=strict)
    assert served.post(tools=[tool]).status_code in (200, 400)


def test_earlier_arguments_may_be_deep_json_in_a_string(served):
    served.engine.say("Hi")
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a":' * 700 + "1" + "}" * 700}}
    assert served.post(messages=[{"role": "assistant", "tool_calls": [call]}]).status_code in (200, 400)


@pytest.mark.parametrize("text", ["\x00", "\ufdd0\ufffe", "\u202e", "🧵" * 100, "\r\n\t"], ids=ascii)
def test_odd_text_is_served(served, text):
    served.engine.say(text)
    assert served.post(messages=[{"role": "user", "content": text}]).status_code == 200


def test_huge_numbers_in_a_schema_are_served_or_refused(served):
    served.engine.say("Hi")
    schema = {"type": "object", "properties": {"n": {"type": "integer", "maximum": 10**400, "minimum": -1e308}}}
    for strict in (False, True):
        assert served.post(tools=[function(parameters=schema, strict=strict)]).status_code in (200, 400)


class TestRoutes:
    def test_an_unknown_one_is_not_found(self, served):
        response = served.http.get("/v1/nothing")
        assert response.status_code == 404
        assert response.json()["error"]["type"] == "invalid_request_error"

    @pytest.mark.parametrize(("method", "path"), [("GET", "/v1/chat/completions"), ("POST", "/v1/models")])
    def test_a_wrong_method_is_not_allowed(self, served, method, path):
        response = served.http.request(method, path)
        assert response.status_code == 405
        assert response.headers["allow"]
        assert response.json()["error"].keys() == {"message", "type", "param", "code"}


class TestBodySize:
    @pytest.fixture
    def small(self, serving):
        return serving(max_body_bytes=100_000)

    def test_a_body_at_the_limit_is_read(self, small):
        small.engine.say("Hi")
        body = json.dumps({"model": "scripted", "messages": MESSAGES}).encode()
        assert small.post(body + b" " * (100_000 - len(body))).status_code == 200

    def test_a_larger_one_is_refused_before_it_is_read(self, small):
        response = small.post(b" " * 100_001)
        assert response.status_code == 413
        assert response.json()["error"]["code"] == "body_too_large"

    def test_a_much_larger_one_is_refused(self, small):
        assert small.post(b" " * 10_000_000).status_code == 413

    def test_so_is_one_that_does_not_say_its_length(self, small):
        pieces = (b" " * 10_000 for _ in range(1000))
        response = small.http.post("/v1/chat/completions", content=pieces)
        assert response.status_code == 413


@pytest.mark.parametrize(
    ("parameters", "param"),
    [
        ({"type": "array", "items": {}}, "tools[0].function.parameters.type"),
        ({"type": "string"}, "tools[0].function.parameters.type"),
    ],
)
def test_schemas_of_no_objects(served, parameters, param):
    assert served.error(400, messages=MESSAGES, tools=[function(parameters=parameters)])["param"] == param


def test_a_schema_that_does_not_compile_is_named(served):
    bad = function("bad", parameters={"type": "object", "properties": {"a": {"type": "wat"}}})
    error = served.error(400, messages=MESSAGES, tools=[function("good"), bad], tool_choice=function("bad"))
    assert error["param"] == "tools[1].function.parameters"
    assert "tool 'bad'" in error["message"]
