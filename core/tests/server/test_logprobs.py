"""Probabilities and ids of tokens."""

from __future__ import annotations

import pytest

CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
REPLIES = [
    "Hi",
    "",
    "aa<a<aa<tool_calx>",
    "<think>\nHm, aha\n</think>\n\nah, ah.",
    f"Let me  see.\n\n{CALL}\n{CALL} And then: æøå 🌦!",
    f"{CALL}\n  t",
    "<tool_call>\nnot a call",
]


def told(choices):
    return [token for choice in choices if choice["logprobs"] for token in choice["logprobs"]["content"]]


def streamed(served, **fields):
    return [choice for chunk in served.chunks(**fields) for choice in chunk["choices"]]


@pytest.mark.parametrize("each", [1, 3, 1000])
@pytest.mark.parametrize("text", REPLIES)
def test_the_tokens_are_those_of_the_content_whole_and_streamed(served, weather, text, each):
    served.engine.say(text, each=each)
    fields = {"tools": [weather], "logprobs": True, "top_logprobs": 2}
    (choice,) = served.post(**fields).json()["choices"]
    tokens = told([choice])
    assert bytes(byte for token in tokens for byte in token["bytes"]).decode() == (choice["message"]["content"] or "")
    assert told(streamed(served, **fields)) == tokens
    for token in tokens:
        assert token["logprob"] == token["top_logprobs"][0]["logprob"] > token["top_logprobs"][1]["logprob"]
        assert token["top_logprobs"][0]["token"] == token["token"]


def test_a_chunk_has_the_probabilities_of_its_own_text(served):
    served.engine.say("ab🌦")
    choices = streamed(served, logprobs=True)
    for choice in choices:
        expected = choice["delta"].get("content", "")
        assert bytes(byte for token in told([choice]) for byte in token["bytes"]).decode() == expected
    assert told(choices)[-1]["token"] == "\N{REPLACEMENT CHARACTER}"  # the last byte of four
    assert told(choices)[-1]["top_logprobs"] == []


@pytest.mark.parametrize(("included", "content"), [(False, "one "), (True, "one END")])
def test_stop_strings_cut_the_tokens_too(served, included, content):
    served.engine.say("one END two")
    fields = {"stop": "END", "include_stop_str_in_output": included, "logprobs": True}
    (choice,) = served.post(**fields).json()["choices"]
    assert choice["message"]["content"] == "".join(token["token"] for token in told([choice])) == content
    assert told(streamed(served, **fields)) == told([choice])


def test_the_official_client_reads_them(served):
    served.engine.say("Hi")
    logprobs = served.chat(logprobs=True, top_logprobs=5).choices[0].logprobs
    assert [token.token for token in logprobs.content] == ["H", "i"]
    assert [len(token.top_logprobs) for token in logprobs.content] == [5, 5]
    with served.client.chat.completions.stream(
        model="scripted", messages=[{"role": "user", "content": "Hi"}], logprobs=True
    ) as stream:
        final = stream.get_final_completion()
    assert [token.token for token in final.choices[0].logprobs.content] == ["H", "i"]


def test_without_being_asked_for_there_are_none(served):
    served.engine.say("Hi")
    assert served.post().json()["choices"][0]["logprobs"] is None
    assert served.engine.samplings[-1].logprobs is None
    assert served.post(logprobs=True).json()["choices"][0]["logprobs"]["content"][0]["top_logprobs"] == []


def test_an_engine_that_tells_none_is_an_error_and_not_a_silence(served, monkeypatch):
    monkeypatch.setattr(type(served.engine), "logprobs", lambda *_: ())
    served.engine.say("Hi")
    assert served.error(500, logprobs=True)["code"] == "engine_error"


def test_token_ids_are_told_whole_and_streamed(served, weather, tokenizer):
    text = f"<think>\nHm\n</think>\n\nOne moment.\n{CALL}"
    served.engine.say(text, stop_token=served.engine.stop_token)
    body = served.post(tools=[weather], return_token_ids=True).json()
    ids = [*tokenizer.encode(text, add_special_tokens=False), served.engine.stop_token]
    assert body["prompt_token_ids"] == list(served.engine.prompts[-1])
    assert body["choices"][0]["token_ids"] == ids
    first, *others = served.chunks(tools=[weather], return_token_ids=True)
    assert first["prompt_token_ids"] == list(served.engine.prompts[-1])
    assert all("prompt_token_ids" not in chunk for chunk in others)
    assert [token for chunk in others for token in chunk["choices"][0]["token_ids"]] == ids


def test_usage_can_come_with_every_chunk(served):
    served.engine.say("abc")
    chunks = served.chunks(stream_options={"include_usage": True, "continuous_usage_stats": True})
    assert [chunk["usage"]["completion_tokens"] for chunk in chunks] == [0, 1, 2, 3, 3, 3]
    alone = served.chunks(stream_options={"continuous_usage_stats": True})
    assert all("usage" not in chunk for chunk in alone)
