"""``/tokenize`` and ``/detokenize``."""

from __future__ import annotations

import pytest

from toolglot.prompts import encoding

MESSAGES = [{"role": "user", "content": "Hi <|im_end|>"}]


def post(served, path, **fields):
    return served.http.post(path, json=fields)


def test_a_text(served, tokenizer):
    answer = post(served, "/tokenize", model="scripted", prompt="Hi<|im_end|>", return_token_strs=True).json()
    assert answer == {
        "count": 3,
        "max_model_len": 6000,
        "tokens": tokenizer.encode("Hi<|im_end|>"),
        "token_strs": ["H", "i", "<|im_end|>"],
    }
    assert post(served, "/detokenize", tokens=answer["tokens"]).json() == {"prompt": "Hi<|im_end|>"}


def test_a_conversation_has_the_tokens_that_its_prompt_would_have(served, weather):
    served.engine.say("x")
    fields = {"messages": MESSAGES, "tools": [weather], "chat_template_kwargs": {"enable_thinking": False}}
    served.both(**fields)
    answer = post(served, "/tokenize", **fields).json()
    assert answer["tokens"] == list(served.engine.prompts[-1])
    assert (answer["count"], answer["token_strs"]) == (len(answer["tokens"]), None)
    assert len(served.engine.prompts) == 2


def test_tools_are_shown_without_a_parser_too(serving, weather):
    served = serving(None)
    tokens = post(served, "/tokenize", messages=MESSAGES, tools=[weather]).json()["tokens"]
    assert "get_weather" in post(served, "/detokenize", tokens=tokens).json()["prompt"]


@pytest.mark.parametrize("text", ["", "æøå 🌦", "<think>\n"])
def test_texts_come_back(served, text):
    tokens = post(served, "/tokenize", prompt=text).json()["tokens"]
    assert post(served, "/detokenize", tokens=tokens).json()["prompt"] == text


@pytest.mark.parametrize(
    ("path", "fields", "param"),
    [
        ("/tokenize", {}, "prompt"),
        ("/tokenize", {"prompt": "a", "messages": MESSAGES}, "prompt"),
        ("/tokenize", {"prompt": ["a"]}, "prompt"),
        ("/tokenize", {"prompt": "x" * 3_000_000}, "prompt"),
        ("/tokenize", {"messages": []}, "messages"),
        ("/tokenize", {"messages": MESSAGES, "tools": []}, "tools"),
        ("/tokenize", {"messages": MESSAGES, "continue_final_message": True}, "continue_final_message"),
        ("/detokenize", {}, "tokens"),
        ("/detokenize", {"tokens": "a"}, "tokens"),
        ("/detokenize", {"tokens": [-1]}, "tokens[0]"),
        ("/detokenize", {"tokens": [99999]}, "tokens"),
    ],
)
def test_a_bad_field_is_named(served, path, fields, param):
    response = post(served, path, **fields)
    assert (response.status_code, response.json()["error"]["param"]) == (400, param)


@pytest.mark.parametrize(
    "fields", [{"prompt": "x" * 24_000}, {"messages": [{"role": "user", "content": "x" * 23_000}]}]
)
def test_more_than_the_model_takes_is_counted_too(served, fields):
    assert post(served, "/tokenize", **fields).json()["count"] > 22_999


@pytest.mark.parametrize(
    ("fields", "param"),
    [({"prompt": "x" * 70_000}, "prompt"), ({"messages": [{"role": "user", "content": "x" * 70_000}]}, "messages")],
)
def test_counting_ends_far_beyond_what_the_model_takes(served, fields, param, monkeypatch):
    monkeypatch.setattr(encoding, "_PER_TOKEN", 1)
    error = post(served, "/tokenize", **fields).json()["error"]
    assert (error["param"], error["code"]) == (param, "context_length_exceeded")
    assert "at least 65" in error["message"]
    assert "this server counts 24000 at most" in error["message"]


def test_an_unknown_model(served):
    assert post(served, "/tokenize", model="other", prompt="a").status_code == 404
