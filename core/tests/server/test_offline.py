"""``POST /v1/toolglot/parse``: what the library's parser says, over HTTP."""

from __future__ import annotations

import json

import msgspec
import pytest

import toolglot

TEXT = 'Let me see.\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'


@pytest.fixture
def parse(served):
    def ask(**fields):
        response = served.http.post("/v1/toolglot/parse", json=fields)
        assert response.status_code == 200, response.text
        return response.json()

    return ask


def said(message):
    """A message of the library as JSON, without random ids."""
    return without_ids(json.loads(msgspec.json.encode(message)))


def without_ids(message):
    return {**message, "tool_calls": [{**call, "id": ""} for call in message["tool_calls"]]}


@pytest.mark.parametrize(("tokens", "param"), [([99999], "token_ids"), ([5, -1], "token_ids[1]")])
def test_tokens_that_the_model_does_not_have_are_refused(served, tokens, param):
    response = served.http.post("/v1/toolglot/parse", json={"token_ids": tokens})
    assert (response.status_code, response.json()["error"]["param"]) == (400, param)


def test_it_says_what_the_parser_says(parse, weather):
    answer = parse(text=TEXT, tools=[weather])
    assert answer["parser"] == "hermes"
    assert without_ids(answer["message"]) == said(toolglot.load_parser("hermes").parse(TEXT, tools=[weather]))
    assert answer["message"]["tool_calls"][0]["outcome"] == "ok"


@pytest.mark.parametrize("chunks", [1, 5, [3, 1], 10**6])
def test_chunks_change_the_trace_and_not_the_message(parse, weather, chunks):
    whole, cut = parse(text=TEXT, tools=[weather]), parse(text=TEXT, tools=[weather], chunks=chunks)
    assert without_ids(cut["message"]) == without_ids(whole["message"])
    assert "".join(step["text"] for step in cut["trace"]) == TEXT
    kinds = [event["type"] for step in cut["trace"] for event in step["events"]]
    assert [kind for kind in kinds if kind not in ("content", "arguments")] == ["call_start", "call_end"]
    assert cut["trace"][-1]["text"] == ""


def test_the_trace_has_each_piece_with_what_it_made_certain(parse, weather):
    trace = parse(text=TEXT, tools=[weather], chunks=[11, 13])["trace"]
    assert [step["text"] for step in trace[:2]] == ["Let me see.", "\n<tool_call>\n"]
    assert trace[0]["events"] == [{"type": "content", "text": "Let me see.", "unparsed": False}]
    assert trace[1]["events"] == []


def test_tokens_are_those_of_the_served_model(parse, weather, tokenizer):
    ids = tokenizer.encode(f"<think>hm</think>{TEXT}", add_special_tokens=False)
    answer = parse(token_ids=ids, tools=[weather], chunks=3)
    assert answer["message"]["reasoning"] == "hm"
    assert answer["message"]["tool_calls"][0]["arguments"] == '{"city": "Oslo"}'
    assert [token for step in answer["trace"] for token in step.get("token_ids", ())] == ids


def test_a_marker_that_is_only_spelled_is_text_among_tokens(parse, weather, tokenizer):
    spelled = [token for char in TEXT for token in tokenizer.encode(char, add_special_tokens=False)]
    assert parse(token_ids=spelled, tools=[weather])["message"]["tool_calls"] == []


def test_without_tools_every_called_name_is_one(parse, weather):
    (call,) = parse(text=TEXT)["message"]["tool_calls"]
    assert (call["name"], call["outcome"]) == ("get_weather", "ok")
    other = {"type": "function", "function": {"name": "other"}}
    (call,) = parse(text=TEXT, tools=[other])["message"]["tool_calls"]
    assert call["outcome"] == "unknown_tool"


def test_the_context_counts(parse, weather):
    cut = TEXT[:-15]
    assert (
        parse(text=cut, tools=[weather], finish_reason="length")["message"]["tool_calls"][0]["outcome"] == "truncated"
    )
    assert parse(text=TEXT, tools=[weather], tool_choice="none")["message"]["tool_calls"] == []
    assert parse(text=f"a</think>{TEXT}", tools=[weather], reasoning_open=True)["message"]["reasoning"] == "a"
    (call,) = parse(text=TEXT.replace('"city": "Oslo"', '"city": 5'), tools=[weather])["message"]["tool_calls"]
    assert call["outcome"] == "schema_violation"


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({}, "text"),
        ({"text": "a", "token_ids": [1]}, "text"),
        ({"text": 5}, "text"),
        ({"text": "a", "chunks": 0}, "chunks"),
        ({"text": "a" * 60_000, "chunks": 1}, "chunks"),
        ({"text": "a", "finish_reason": "abort"}, "finish_reason"),
        ({"text": "a", "tool_choice": "required"}, "tool_choice"),
        ({"text": "a", "tools": []}, "tools"),
        ({"token_ids": ["x"]}, "token_ids[0]"),
    ],
)
def test_what_is_wrong_is_named(served, fields, param):
    response = served.http.post("/v1/toolglot/parse", json=fields)
    assert (response.status_code, response.json()["error"]["param"]) == (400, param)


def test_a_server_without_a_parser_says_so(serving):
    response = serving(parser=None).http.post("/v1/toolglot/parse", json={"text": "a"})
    assert response.status_code == 400
    assert "--tool-call-parser" in response.json()["error"]["message"]
