"""Completions: prompts as they are, and replies as plain text."""

from __future__ import annotations

import json

import openai
import pytest


def complete(served, **fields):
    return served.client.completions.create(model="scripted", **{"prompt": "Once", **fields})


def raw(served, **fields):
    return served.http.post("/v1/completions", json={"model": "scripted", "prompt": "Once", **fields})


def error(served, **fields):
    response, streamed = raw(served, **fields), raw(served, **fields, stream=True)
    assert (response.status_code, response.json()) == (400, streamed.json())
    return response.json()["error"]


def test_a_prompt_is_taken_as_it_is_and_its_markers_are_tokens(served, tokenizer):
    served.engine.say(" upon a <tool_call>time")
    completion = complete(served, prompt="<|im_start|>user\nOnce")
    (choice,) = completion.choices
    assert (choice.text, choice.finish_reason, choice.index) == (" upon a <tool_call>time", "stop", 0)
    assert completion.object == "text_completion"
    assert served.engine.prompts[-1][0] == tokenizer.convert_tokens_to_ids("<|im_start|>")
    assert served.engine.prompt == "<|im_start|>user\nOnce"
    assert completion.usage.prompt_tokens == len(served.engine.prompts[-1])
    assert completion.usage.completion_tokens == len(tokenizer.encode(choice.text))


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("ab", ["ab"]),
        (["ab"], ["ab"]),
        (["ab", "c"], ["ab", "c"]),
        ("ids", ["ab"]),
        (["ids"], ["ab"]),
        (["ids", "c"], ["ab", "c"]),
    ],
    ids=repr,
)
def test_prompts_are_texts_or_tokens_one_or_many(served, tokenizer, prompt, expected):
    ids = tokenizer.encode("ab")
    prompt = ids if prompt == "ids" else [ids if one == "ids" else one for one in prompt] if prompt != "ab" else prompt
    served.engine.say("x")
    completion = complete(served, prompt=prompt)
    assert [tokenizer.decode(one) for one in served.engine.prompts] == expected
    assert completion.usage.prompt_tokens == sum(map(len, expected))


def test_what_the_engine_knew_of_each_prompt_is_summed(served):
    served.engine.say("x", cached=1)
    completion = complete(served, prompt=["ab", "cd"], n=2)
    assert completion.usage.prompt_tokens_details.cached_tokens == 2


def test_choices_are_numbered_through_all_prompts(served):
    for text in ("one", "two", "three", "four"):
        served.engine.say(text)
    completion = complete(served, prompt=["a", "bcd"], n=2, seed=5)
    assert [(choice.index, choice.text) for choice in completion.choices] == list(
        enumerate(("one", "two", "three", "four"))
    )
    assert completion.usage.prompt_tokens == 4
    assert [sampling.seed for sampling in served.engine.samplings] == [5, 6, 5, 6]


def test_a_stream_is_the_same(served):
    served.engine.say(" upon å time")
    chunks = list(complete(served, stream=True, n=2, stream_options={"include_usage": True}))
    *others, last = chunks
    assert last.choices == []
    assert last.usage.completion_tokens == 2 * len(" upon å time".encode())
    for index in (0, 1):
        mine = [choice for chunk in others for choice in chunk.choices if choice.index == index]
        assert "".join(choice.text for choice in mine) == " upon å time"
        assert [choice.finish_reason for choice in mine] == [None] * (len(mine) - 1) + ["stop"]


async def test_the_async_client_streams(served):
    served.engine.say(" upon")
    async with openai.AsyncOpenAI(base_url=f"{served.url}/v1", api_key="none", max_retries=0) as client:
        stream = await client.completions.create(model="scripted", prompt="Once", stream=True)
        assert "".join([chunk.choices[0].text async for chunk in stream]) == " upon"


def test_sixteen_tokens_are_the_default(served):
    served.engine.say("x" * 50)
    choice = complete(served).choices[0]
    assert (choice.text, choice.finish_reason) == ("x" * 16, "length")
    assert complete(served, max_tokens=20).choices[0].text == "x" * 20
    assert complete(served, prompt="a" * 5990).choices[0].text == "x" * 10  # there is no more room


@pytest.mark.parametrize(("included", "text"), [(False, "one "), (True, "one END")])
def test_stop_strings(served, included, text):
    served.engine.say("one END two")
    choice = complete(served, stop="END", extra_body={"include_stop_str_in_output": included}).choices[0]
    assert (choice.text, choice.finish_reason) == (text, "stop")


def test_probabilities_have_their_old_form(served):
    served.engine.say("aé")
    choice = complete(served, logprobs=1).choices[0]
    logprobs = choice.logprobs
    assert logprobs.tokens == ["a", "\N{REPLACEMENT CHARACTER}", "\N{REPLACEMENT CHARACTER}"]
    assert logprobs.text_offset[:2] == [0, 1]
    assert [top[token] for top, token in zip(logprobs.top_logprobs, logprobs.tokens, strict=True)] == list(
        logprobs.token_logprobs
    )
    chunks = list(complete(served, logprobs=1, stream=True))
    told = [chunk.choices[0].logprobs for chunk in chunks if chunk.choices[0].logprobs]
    assert [token for one in told for token in one.tokens] == logprobs.tokens
    assert [offset for one in told for offset in one.text_offset] == logprobs.text_offset
    assert complete(served).choices[0].logprobs is None


def test_token_ids(served, tokenizer):
    served.engine.say("ab", stop_token=served.engine.stop_token)
    (choice,) = raw(served, return_token_ids=True).json()["choices"]
    assert choice["token_ids"] == [*tokenizer.encode("ab"), served.engine.stop_token]
    assert choice["prompt_token_ids"] == tokenizer.encode("Once")


def test_it_works_without_a_parser(serving):
    served = serving(None)
    served.engine.say(" upon")
    assert complete(served).choices[0].text == " upon"


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"prompt": None}, "prompt"),
        ({"prompt": ""}, "prompt"),
        ({"prompt": []}, "prompt"),
        ({"prompt": [""]}, "prompt[0]"),
        ({"prompt": ["a", []]}, "prompt[1]"),
        ({"prompt": ["a", 1]}, "prompt"),
        ({"prompt": [1.5]}, "prompt[0]"),
        ({"prompt": [-1]}, "prompt[0]"),
        ({"prompt": [99999]}, "prompt"),
        ({"prompt": [[1], [99999]]}, "prompt"),
        ({"prompt": "x" * 6000}, "prompt"),
        ({"prompt": [1] * 6000}, "prompt"),
        ({"prompt": "x" * 3_000_000}, "prompt"),
        ({"prompt": ["a"] * 17}, "prompt"),
        ({"prompt": ["a"] * 9, "n": 2}, "prompt"),
        ({"n": 17}, "n"),
        ({"max_tokens": 6000}, "max_tokens"),
        ({"echo": True}, "echo"),
        ({"suffix": "end"}, "suffix"),
        ({"best_of": 3}, "best_of"),
        ({"logprobs": True}, "logprobs"),
        ({"logprobs": 21}, "logprobs"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
    ],
    ids=lambda value: json.dumps(value)[:40] if isinstance(value, dict) else "",
)
def test_a_bad_field_is_named(served, fields, param):
    assert error(served, **fields)["param"] == param
    served.engine.say("fine")
    assert complete(served).choices[0].text == "fine"


def test_an_unknown_model(served):
    with pytest.raises(openai.NotFoundError):
        served.client.completions.create(model="other", prompt="Once")
