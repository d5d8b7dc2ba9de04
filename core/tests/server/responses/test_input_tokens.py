"""``/v1/responses/input_tokens`` counts what a prompt would have."""

from __future__ import annotations

import asyncio

import openai
import pytest


def count(api, **fields):
    return api.client.responses.input_tokens.count(**{"model": "scripted", "input": "Hi", **fields})


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"instructions": "Be kind."},
        {"input": [{"role": "user", "content": [{"type": "input_text", "text": "Hello there"}]}]},
        {"reasoning": {"effort": "low"}},
        {"tool_choice": "none"},
        {"text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}}}},
    ],
)
def test_it_is_what_a_response_says(api, tool, fields):
    fields["tools"] = [tool]
    if "text" in fields:
        api.engine.say("{}")
    else:
        api.engine.say("ok")
    counted = count(api, **fields)
    assert counted.object == "response.input_tokens"
    assert counted.input_tokens == api.create(**fields)["usage"]["input_tokens"] > 0


def test_the_asynchronous_client_counts_the_same(api):
    async def counted():
        async with openai.AsyncOpenAI(base_url=f"{api.served.url}/v1", api_key="none") as client:
            return (await client.responses.input_tokens.count(model="scripted", input="Hi")).input_tokens

    assert asyncio.run(counted()) == count(api).input_tokens


def test_the_model_need_not_be_named(api):
    assert api.client.responses.input_tokens.count(input="Hi").input_tokens == count(api).input_tokens


def test_a_stored_conversation_counts(api):
    api.engine.say("Hello.")
    first = api.create()
    following = {"previous_response_id": first["id"], "input": "And now?"}
    assert count(api, **following).input_tokens == api.create(**following)["usage"]["input_tokens"]


def test_more_than_the_model_takes_is_counted_too(api):
    assert count(api, input="x" * 7000).input_tokens > 7000
    assert count(api, input="x" * 7000, truncation="auto").input_tokens > 7000
    assert api.engine.prompts == []


@pytest.mark.parametrize(
    ("fields", "status", "param"),
    [
        ({"model": "gpt-9"}, 404, "model"),
        ({"input": None}, 400, "input"),
        ({"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}]}, 400, None),
        ({"conversation": "conv_1"}, 400, "conversation"),
        ({"tools": [{"type": "web_search"}]}, 400, "tools[0].type"),
        ({"tool_choice": "required"}, 400, "tool_choice"),
        ({"previous_response_id": "resp_none"}, 400, "previous_response_id"),
        ({"input": "x" * 400_000}, 400, "input"),
    ],
)
def test_what_a_response_would_be_refused_for_is_refused(api, fields, status, param):
    with pytest.raises(openai.APIStatusError) as caught:
        count(api, **fields)
    assert caught.value.status_code == status
    assert param in (None, caught.value.param)


def test_it_is_not_taken_for_the_id_of_a_response(api):
    assert api.http.get("/v1/responses/input_tokens").status_code == 404
