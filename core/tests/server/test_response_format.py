"""``response_format``: the content is JSON, or the model calls a tool."""

from __future__ import annotations

import json

import pytest

from toolglot.server import strict

ANSWER = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
}
CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
LIST = {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}


def json_schema(schema, **fields):
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, **fields}}


def refuses(served, text, **fields):
    served.engine.scripts = []
    served.engine.say(text)
    return "the grammar refuses" in served.post(**fields).text


@pytest.fixture(params=["hermes", None], ids=["hermes", "no parser"])
def any_server(serving, request):
    return serving(parser=request.param)


def test_an_object_is_any_object(any_server):
    any_server.engine.say('{"x": [1, {}]}')
    reply = any_server.both(response_format={"type": "json_object"})
    assert (reply.content, reply.finish, reply.extension) == ('{"x": [1, {}]}', "stop", None)
    assert refuses(any_server, "[1]", response_format={"type": "json_object"})
    assert refuses(any_server, "Sure!", response_format={"type": "json_object"})


@pytest.mark.parametrize("strict", [True, False, None])
def test_a_schema_is_enforced(any_server, strict):
    wanted = json_schema(ANSWER, strict=strict)
    any_server.engine.say('{"city": "Oslo", "days": 3}')
    assert json.loads(any_server.both(response_format=wanted).content) == {"city": "Oslo", "days": 3}
    assert refuses(any_server, '{"days": 3}', response_format=wanted)


def test_without_a_schema_it_is_any_value(any_server):
    any_server.engine.say("[1, null]")
    wanted = {"type": "json_schema", "json_schema": {"name": "answer"}}
    assert any_server.both(response_format=wanted).content == "[1, null]"


def test_with_tools_the_reply_is_a_call_or_conforming_content(served, weather):
    fields = {"tools": [weather], "response_format": json_schema(ANSWER)}
    served.engine.say(CALL)
    assert served.both(**fields).calls == [("get_weather", '{"city": "Oslo"}')]
    served.engine.scripts = []
    served.engine.say('{"city": "Oslo"}')
    assert served.both(**fields).content == '{"city": "Oslo"}'
    assert refuses(served, "It rains.", **fields)
    assert refuses(served, '{"days": 3}', **fields)


def test_without_a_choice_of_tools_it_is_content(served, weather):
    fields = {"tools": [weather], "tool_choice": "none", "response_format": json_schema(ANSWER)}
    served.engine.say('{"city": "Oslo"}')
    assert served.both(**fields).content == '{"city": "Oslo"}'
    assert refuses(served, CALL, **fields)


def test_a_demanded_call_comes_first(served, weather):
    fields = {"tools": [weather], "tool_choice": "required", "response_format": json_schema(LIST)}
    served.engine.say(CALL)
    reply = served.both(**fields)
    assert reply.calls == [("get_weather", '{"city": "Oslo"}')]
    assert reply.extension == {"calls": [{"outcome": "ok", "repairs": []}]}
    assert refuses(served, "[1]", **fields)


def test_reasoning_comes_before_it(served):
    served.engine.say('<think>\nHm\n</think>\n\n{"city": "Oslo"}')
    reply = served.both(response_format=json_schema(ANSWER))
    assert (reply.reasoning, reply.content) == ("Hm", '{"city": "Oslo"}')


def test_what_cannot_be_enforced_is_reported(any_server):
    any_server.engine.say("[1, 1]")
    (note,) = any_server.both(response_format=json_schema(LIST)).extension["relaxed"]
    assert (note["response_format"], note["path"], note["keyword"]) == ("answer", "/uniqueItems", "uniqueItems")
    assert note["reason"]


def test_the_token_limit_cuts_it(any_server):
    any_server.engine.say('{"city": "Oslo"}')
    reply = any_server.both(response_format=json_schema(ANSWER), max_tokens=5)
    assert (reply.content, reply.finish) == ('{"cit', "length")


def test_a_stop_string_ends_it(any_server):
    any_server.engine.say('{"city": "Oslo"}')
    assert any_server.both(response_format=json_schema(ANSWER), stop="Oslo").content == '{"city": "'


@pytest.mark.parametrize("choice", ["auto", "none"])
def test_without_enforcement_of_calls_it_holds_where_there_can_be_none(serving, weather, choice):
    served = serving(enforce_strict_tool_calling=False)
    served.engine.say('{"city": "Oslo"}')
    reply = served.both(tools=[weather], tool_choice=choice, response_format=json_schema(ANSWER))
    free = choice == "auto"
    assert reply.extension == ({"calls": [], "response_format": "not_enforced"} if free else None)
    assert (None in served.engine.constraints) == free


@pytest.mark.parametrize(
    ("wanted", "param"),
    [
        ("json", "response_format"),
        ({}, "response_format.type"),
        ({"type": "yaml"}, "response_format.type"),
        ({"type": "json_schema"}, "response_format.json_schema"),
        ({"type": "json_schema", "json_schema": {"schema": {}}}, "response_format.json_schema.name"),
        ({"type": "json_schema", "json_schema": {"name": ""}}, "response_format.json_schema.name"),
        (json_schema([]), "response_format.json_schema.schema"),
        (json_schema({}, strict="yes"), "response_format.json_schema.strict"),
        (json_schema({"properties": []}), "response_format.json_schema.schema"),
        (json_schema({"$ref": "http://127.0.0.1:1/x"}, strict=True), "response_format.json_schema.schema"),
        (json_schema({"type": "integer", "minimum": 2, "maximum": 1}), "response_format.json_schema.schema"),
        (json_schema(LIST, strict=True), "response_format.json_schema.schema"),
    ],
    ids=lambda value: json.dumps(value)[:60] if isinstance(value, dict) else "",
)
def test_a_bad_one_is_named(any_server, wanted, param):
    error = any_server.error(400, response_format=wanted)
    assert error["param"] == param
    assert error["message"]


def test_a_strict_one_is_refused_with_the_keyword_that_cannot_be_enforced(any_server):
    assert "/uniqueItems" in any_server.error(400, response_format=json_schema(LIST, strict=True))["message"]


def test_a_schema_that_takes_too_long_to_read_is_refused(served, monkeypatch):
    monkeypatch.setattr(strict, "_SECONDS", 0.05)
    numbers = {f"p{at}": {"type": "number", "minimum": -1.789 - at, "maximum": 9.321 + at} for at in range(1000)}
    error = served.error(400, response_format=json_schema({"type": "object", "properties": numbers}))
    assert error["code"] == "invalid_schema"
    assert "takes more than 0.05 s" in error["message"]
    served.engine.say("Hi")
    assert served.both().content == "Hi"
