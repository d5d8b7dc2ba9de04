"""What an operator limits, at its limit and one above."""

from __future__ import annotations

import json

import pytest

MESSAGE = {"role": "user", "content": "Hi"}


def tool(name, **parameters):
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object", **parameters}}}


def schema_of(size):
    """A schema of so many bytes."""
    schema = {"type": "object", "description": ""}
    return {**schema, "description": "x" * (size - len(json.dumps(schema, separators=(",", ":"))))}


def form(size):
    return {"type": "json_schema", "json_schema": {"name": "a", "schema": schema_of(size)}}


@pytest.mark.parametrize(
    ("limit", "most", "above", "param"),
    [
        ({"max_messages": 2}, {"messages": [MESSAGE] * 2}, {"messages": [MESSAGE] * 3}, "messages"),
        ({"max_tools": 1}, {"tools": [tool("f")]}, {"tools": [tool("f"), tool("g")]}, "tools"),
        (
            {"max_schema_bytes": 100},
            {"tools": [tool("f"), {"function": {"name": "g", "parameters": schema_of(100)}}]},
            {"tools": [tool("f"), {"function": {"name": "g", "parameters": schema_of(101)}}]},
            "tools[1]",
        ),
        (
            {"max_schema_bytes": 100},
            {"response_format": form(100)},
            {"response_format": form(101)},
            "response_format.json_schema.schema",
        ),
        ({"max_tokens_limit": 5}, {"max_tokens": 5}, {"max_tokens": 6}, "max_tokens"),
        ({"max_choices": 2}, {"n": 2}, {"n": 3}, "n"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_limit_holds_and_is_named(serving, limit, most, above, param):
    served = serving(**limit)
    served.engine.say("{}")
    assert served.post(**most).status_code == 200
    assert served.error(400, **above)["param"] == param


def test_a_reply_without_a_limit_of_its_own_has_the_operators(serving):
    served = serving(max_tokens_limit=5)
    served.engine.say("x" * 50)
    reply = served.both()
    assert (reply.content, reply.finish) == ("xxxxx", "length")


def test_so_has_a_completion(serving):
    served = serving(max_tokens_limit=5)
    served.engine.say("x" * 50)
    body = {"model": "scripted", "prompt": "Hi"}
    (choice,) = served.http.post("/v1/completions", json=body).json()["choices"]
    assert (choice["text"], choice["finish_reason"]) == ("xxxxx", "length")
    assert served.http.post("/v1/completions", json={**body, "max_tokens": 6}).status_code == 400


def test_tokens_of_a_conversation_are_limited_alike(serving):
    served = serving(max_messages=2)
    assert served.http.post("/tokenize", json={"messages": [MESSAGE] * 3}).status_code == 400
