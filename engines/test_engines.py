"""The same requests to real engines. The demo model is small: whether it chooses well is not looked at."""

from __future__ import annotations

import asyncio
import json

import jsonschema_rs
import openai
import pytest
from openai.lib.streaming.chat import ChatCompletionStreamState

from engines.conftest import MODEL

SCHEMAS = {
    "get_weather": {
        "type": "object",
        "properties": {"city": {"type": "string", "maxLength": 30}, "unit": {"enum": ["C", "F"]}},
        "required": ["city"],
        "additionalProperties": False,
    },
    "get_time": {
        "type": "object",
        "properties": {"zone": {"type": "string", "maxLength": 20}, "hours": {"type": "integer", "maximum": 24}},
        "required": ["zone"],
        "additionalProperties": False,
    },
}
TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": schema, "strict": True}}
    for name, schema in SCHEMAS.items()
]
QUESTIONS = ("What is the weather in Oslo?", "What time is it in Tokyo?", "Weather in Paris, in Fahrenheit?")
QUESTIONS += ("And in Århus 🌦?", "What time is it?")


async def asked(client, question, *, stream, **fields):
    body = {"model": MODEL, "messages": [{"role": "user", "content": question}], "max_tokens": 120, **fields}
    completions = client.chat.completions
    if not stream:
        return await completions.create(**body)
    state = ChatCompletionStreamState()
    async for chunk in await completions.create(**body, stream=True, stream_options={"include_usage": True}):
        state.handle_chunk(chunk)
    return state.get_final_completion()


def check(choice):
    for call in choice.message.tool_calls or ():
        value = json.loads(call.function.arguments)
        assert jsonschema_rs.validator_for(SCHEMAS[call.function.name]).is_valid(value)


async def test_ten_of_ten_demanded_calls_are_valid_in_parallel(client):
    asks = [
        asked(client, question, stream=stream, tools=TOOLS, tool_choice="required", parallel_tool_calls=False)
        for question in QUESTIONS
        for stream in (False, True)
    ]
    found = await asyncio.gather(*asks)
    assert len(found) == 10
    for completion in found:
        (choice,) = completion.choices
        assert choice.finish_reason == "tool_calls"
        assert len(choice.message.tool_calls) == 1
        check(choice)
        usage = completion.usage
        assert 0 < usage.completion_tokens <= 120
        assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens


async def test_what_was_asked_before_is_cached(client):
    fields = {"tools": TOOLS, "tool_choice": "required", "temperature": 0}
    for stream in (False, True):
        found = await asked(client, QUESTIONS[0], stream=stream, **fields)
    assert found.usage.prompt_tokens_details.cached_tokens > 0


async def test_a_free_choice_of_strict_tools(client):
    for stream in (False, True):
        found = await asked(client, QUESTIONS[1], stream=stream, tools=TOOLS, tool_choice="auto", temperature=0)
        check(found.choices[0])
        assert "<tool_call>" not in (found.choices[0].message.content or "")


async def test_probabilities(client):
    found = await asked(client, "Say hello.", stream=False, logprobs=True, top_logprobs=2, temperature=0)
    told = found.choices[0].logprobs.content
    assert "".join(one.token for one in told) == found.choices[0].message.content
    assert all(one.logprob <= 0 and len(one.top_logprobs) == 2 for one in told)


def story(client):
    messages = [{"role": "user", "content": "Tell me a long story."}]
    return client.chat.completions.create(model=MODEL, messages=messages, max_tokens=1000, stream=True)


async def test_a_client_that_leaves_ends_it_at_the_engine(served, client):
    stream = await story(client)
    for _ in range(3):
        await anext(stream)
    assert served.busy()
    await stream.close()
    async with asyncio.timeout(20):
        while served.busy():  # noqa: ASYNC110  the engine tells nobody
            await asyncio.sleep(0.1)


async def test_an_engine_that_is_killed_is_told_and_used_again(served, client):
    stream = await story(client)
    for _ in range(3):
        await anext(stream)
    served.engine.kill()
    with pytest.raises(openai.APIError, match="the engine broke off its answer"):
        await drained(stream)
    for stream_too in (False, True):
        with pytest.raises(openai.APIStatusError) as caught:
            await asked(client, "Hi", stream=stream_too)
        assert (caught.value.status_code, caught.value.code) == (503, "engine_unavailable")
    served.engine.start()
    found = await asked(client, QUESTIONS[0], stream=True, tools=TOOLS, tool_choice="required")
    check(found.choices[0])


async def drained(stream):
    async for _ in stream:
        pass
