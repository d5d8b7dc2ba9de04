"""The official SDK, sync and async, in every way in which it asks for a chat completion with tools."""

from __future__ import annotations

import asyncio
import json

import openai
import pytest
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletionChunk
from pydantic import BaseModel

CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
TWO_CALLS = CALL + "\n" + CALL.replace("Oslo", "Bergen")
REPLY = f"<think>\nHm, æøå 🌦\n</think>\n\nOne moment. {TWO_CALLS}"
CUT = CALL.removesuffix('o"}}\n</tool_call>')
CUT_TOKENS = len(CUT.replace("<tool_call>", "1"))
HI = [{"role": "user", "content": "Weather in Oslo and Bergen?"}]
USAGE = {"stream": True, "stream_options": {"include_usage": True}}


class GetWeather(BaseModel):
    """The weather."""

    city: str


TOOL = openai.pydantic_function_tool(GetWeather, name="get_weather")
OTHER = {"type": "function", "function": {"name": "get_time", "strict": True}}
OTHER["function"]["parameters"] = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}


def named(name):
    return {"type": "function", "function": {"name": name}}


def run(served, work):
    """Let ``work`` use the asynchronous client's chat completions."""

    async def main():
        async with openai.AsyncOpenAI(base_url=f"{served.url}/v1", api_key="none", max_retries=0) as client:
            return await work(client.chat.completions)

    return asyncio.run(main())


def accumulated(chunks):
    state = ChatCompletionStreamState()
    for chunk in chunks:
        state.handle_chunk(chunk)
    return state.get_final_completion()


def chunk_of(line):
    return ChatCompletionChunk.model_validate_json(line.removeprefix("data: "))


def create(served, fields):
    return served.client.chat.completions.create(**fields)


def create_async(served, fields):
    return run(served, lambda completions: completions.create(**fields))


def chunks(served, fields):
    with served.client.chat.completions.create(**fields, **USAGE) as stream:
        return accumulated(stream)


def chunks_async(served, fields):
    async def work(completions):
        async with await completions.create(**fields, **USAGE) as stream:
            return accumulated([chunk async for chunk in stream])

    return run(served, work)


def raw(served, fields):
    response = served.client.chat.completions.with_raw_response.create(**fields)
    assert response.status_code == 200
    assert response.headers["x-request-id"] == response.request_id
    return response.parse()


def raw_async(served, fields):
    async def work(completions):
        return (await completions.with_raw_response.create(**fields)).parse()

    return run(served, work)


def raw_chunks(served, fields):
    response = served.client.chat.completions.with_raw_response.create(**fields, **USAGE)
    with response.parse() as stream:
        return accumulated(stream)


def raw_chunks_async(served, fields):
    async def work(completions):
        response = await completions.with_raw_response.create(**fields, **USAGE)
        async with response.parse() as stream:
            return accumulated([chunk async for chunk in stream])

    return run(served, work)


def body(served, fields):
    with served.client.chat.completions.with_streaming_response.create(**fields) as response:
        return response.parse()


def body_async(served, fields):
    async def work(completions):
        async with completions.with_streaming_response.create(**fields) as response:
            return await response.parse()

    return run(served, work)


def lines(served, fields):
    with served.client.chat.completions.with_streaming_response.create(**fields, **USAGE) as response:
        *data, done = filter(None, response.iter_lines())
    assert done == "data: [DONE]"
    return accumulated(map(chunk_of, data))


def lines_async(served, fields):
    async def work(completions):
        async with completions.with_streaming_response.create(**fields, **USAGE) as response:
            *data, _ = [line async for line in response.iter_lines() if line]
        return accumulated(map(chunk_of, data))

    return run(served, work)


def parse(served, fields):
    return served.client.chat.completions.parse(**fields)


def parse_async(served, fields):
    return run(served, lambda completions: completions.parse(**fields))


def raw_parse(served, fields):
    return served.client.chat.completions.with_raw_response.parse(**fields).parse()


def helper(served, fields):
    with served.client.chat.completions.stream(**fields, stream_options=USAGE["stream_options"]) as stream:
        return stream.until_done().get_final_completion()


def helper_async(served, fields):
    async def work(completions):
        async with completions.stream(**fields, stream_options=USAGE["stream_options"]) as stream:
            return await stream.get_final_completion()

    return run(served, work)


WHOLE = [create, create_async, raw, raw_async, body, body_async]
CHUNKS = [chunks, chunks_async, raw_chunks, raw_chunks_async, lines, lines_async]
PARSED = [parse, parse_async, raw_parse, helper, helper_async]
"""These also make objects of arguments, and take only tools that are strict."""
WAYS = WHOLE + CHUNKS + PARSED


def ask(way, served, **fields):
    return way(served, {"model": "scripted", "messages": HI, "tools": [TOOL, OTHER], **fields})


def calls(message):
    return [(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls or ()]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("each", [1, 7, 1000])
def test_every_way_gives_the_same_completion(served, way, each):
    served.engine.say(REPLY, each=each)
    completion = ask(way, served)
    (choice,) = completion.choices
    assert (choice.message.role, choice.message.content, choice.finish_reason) == (
        "assistant",
        "One moment.",
        "tool_calls",
    )
    assert choice.message.reasoning == choice.message.reasoning_content == "Hm, æøå 🌦"
    assert calls(choice.message) == [("get_weather", {"city": "Oslo"}), ("get_weather", {"city": "Bergen"})]
    assert {call.type for call in choice.message.tool_calls} == {"function"}
    assert len({call.id for call in choice.message.tool_calls}) == 2
    assert completion.usage.prompt_tokens == len(served.engine.prompts[-1])
    assert completion.usage.total_tokens == completion.usage.prompt_tokens + completion.usage.completion_tokens


@pytest.mark.parametrize("way", PARSED)
def test_arguments_become_what_a_class_describes(served, way):
    served.engine.say(TWO_CALLS, each=3)
    message = ask(way, served).choices[0].message
    parsed = [call.function.parsed_arguments for call in message.tool_calls]
    assert parsed == [GetWeather(city="Oslo"), GetWeather(city="Bergen")]
    assert message.parsed is None


@pytest.mark.parametrize("way", PARSED)
def test_content_becomes_what_a_class_describes(served, way):
    served.engine.say('{"city": "Oslo"}', each=3)
    assert ask(way, served, response_format=GetWeather).choices[0].message.parsed == GetWeather(city="Oslo")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "choice",
    [
        "auto",
        "required",
        named("get_weather"),
        {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [named("get_weather")]}},
        {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [named("get_weather")]}},
    ],
    ids=["auto", "required", "named", "allowed", "allowed and required"],
)
def test_every_way_takes_every_choice(served, way, choice):
    served.engine.say(CALL, each=5)
    (call,) = calls(ask(way, served, tool_choice=choice, parallel_tool_calls=False).choices[0].message)
    assert call == ("get_weather", {"city": "Oslo"})
    assert "get_time" in served.engine.prompt


@pytest.mark.parametrize("way", WAYS)
def test_every_way_takes_none(served, way):
    served.engine.say(f"Like this: {CALL}", spelled=True)
    (choice,) = ask(way, served, tool_choice="none").choices
    assert (choice.message.content, calls(choice.message), choice.finish_reason) == (f"Like this: {CALL}", [], "stop")


@pytest.mark.parametrize("way", WAYS)
def test_every_way_takes_several_replies(served, way):
    served.engine.say(CALL)
    served.engine.say("No.")
    first, second = sorted(ask(way, served, n=2).choices, key=lambda choice: choice.index)
    assert {first.finish_reason, second.finish_reason} == {"tool_calls", "stop"}
    assert len(calls(first.message) + calls(second.message)) == 1


@pytest.mark.parametrize("way", WAYS)
def test_a_loop_of_tools_comes_to_its_end(served, way):
    for text in (REPLY, CALL.replace("Oslo", "Voss"), "It is 3C everywhere."):
        served.engine.say(text, each=4)
    messages = list(HI)
    while found := (message := ask(way, served, messages=messages).choices[0].message).tool_calls:
        messages.append(message)  # as it is, with what the SDK has put into it
        for call in found:
            city = json.loads(call.function.arguments)["city"]
            messages.append({"role": "tool", "tool_call_id": call.id, "content": f"3C in {city}"})
    assert message.content == "It is 3C everywhere."
    assert [f"3C in {city}" in served.engine.prompt for city in ("Oslo", "Bergen", "Voss")] == [True] * 3


@pytest.mark.parametrize("way", WAYS)
def test_a_call_that_was_cut_is_given_as_far_as_it_got(served, way):
    served.engine.say(CALL, each=2)
    if way in WHOLE:
        completion = ask(way, served, max_completion_tokens=CUT_TOKENS)
    else:  # where the SDK puts a completion together, this is an error of its own
        with pytest.raises(openai.LengthFinishReasonError) as caught:
            ask(way, served, max_completion_tokens=CUT_TOKENS)
        completion = caught.value.completion
    (call,) = completion.choices[0].message.tool_calls
    assert (call.function.arguments, completion.choices[0].finish_reason) == ('{"city": "Osl', "length")


@pytest.mark.parametrize("way", WAYS)
def test_errors_are_the_sdks_own(served, way):
    served.engine.say("ok")
    with pytest.raises(openai.BadRequestError) as caught:
        ask(way, served, tool_choice=named("nothing"))
    assert (caught.value.param, caught.value.type) == ("tool_choice", "invalid_request_error")
    assert caught.value.request_id.startswith("req_")
    with pytest.raises(openai.NotFoundError):
        ask(way, served, model="gpt")
    served.engine.full = True
    with pytest.raises(openai.RateLimitError):
        ask(way, served)


class TestEvents:
    def test_the_helper_tells_of_arguments_as_they_come(self, served):
        served.engine.say(TWO_CALLS, each=2)
        with served.client.chat.completions.stream(model="scripted", messages=HI, tools=[TOOL]) as stream:
            events = list(stream)
        deltas = [event for event in events if event.type == "tool_calls.function.arguments.delta"]
        done = [event for event in events if event.type == "tool_calls.function.arguments.done"]
        assert [(event.index, event.name, event.parsed_arguments) for event in done] == [
            (0, "get_weather", GetWeather(city="Oslo")),
            (1, "get_weather", GetWeather(city="Bergen")),
        ]
        for event in done:
            pieces = [delta.arguments_delta for delta in deltas if delta.index == event.index]
            assert len(pieces) > 1
            assert "".join(pieces) == event.arguments

    def test_and_of_content(self, served):
        served.engine.say("Hello there.", each=2)
        with served.client.chat.completions.stream(model="scripted", messages=HI) as stream:
            events = list(stream)
        deltas = [event.delta for event in events if event.type == "content.delta"]
        assert len(deltas) > 1
        assert "".join(deltas) == "Hello there."
        assert [event.content for event in events if event.type == "content.done"] == ["Hello there."]
