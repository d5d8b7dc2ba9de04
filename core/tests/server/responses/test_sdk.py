"""The official SDK, sync and async, in every way in which it asks for a response with tools."""

from __future__ import annotations

import asyncio
import json

import openai
import pytest
from openai.lib.responses_tool_runner import (
    AsyncRegisteredFunction,
    AsyncResponsesToolRunner,
    RegisteredFunction,
    ResponsesToolRunner,
)
from openai.types.responses import ResponseStreamEvent
from pydantic import BaseModel, TypeAdapter

CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
TWO_CALLS = CALL + "\n" + CALL.replace("Oslo", "Bergen")
REPLY = f"<think>\nHm, æøå 🌦\n</think>\n\nOne moment. {TWO_CALLS}"
CUT = CALL.removesuffix('o"}}\n</tool_call>')
CUT_TOKENS = len(CUT.replace("<tool_call>", "1"))
EVENT = TypeAdapter(ResponseStreamEvent)


class GetWeather(BaseModel):
    """The weather."""

    city: str


TOOL = openai.pydantic_responses_function_tool(GetWeather, name="get_weather")
OTHER = {"type": "function", "name": "get_time", "strict": True}
OTHER["parameters"] = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
ALLOWED = [{"type": "function", "name": "get_weather"}]


def run(api, work):
    """Let ``work`` use the asynchronous client."""

    async def main():
        async with openai.AsyncOpenAI(base_url=f"{api.served.url}/v1", api_key="none", max_retries=0) as client:
            return await work(client)

    return asyncio.run(main())


def last(events):
    """The response in the last of the events, whose numbers have no gap."""
    events = list(events)
    assert [event.sequence_number for event in events] == list(range(len(events)))
    return events[-1].response


def last_of_lines(lines):
    data = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    return last(map(EVENT.validate_json, data))


def create(api, fields):
    return api.client.responses.create(**fields)


def create_async(api, fields):
    return run(api, lambda client: client.responses.create(**fields))


def events(api, fields):
    with api.client.responses.create(**fields, stream=True) as stream:
        return last(stream)


def events_async(api, fields):
    async def work(client):
        async with await client.responses.create(**fields, stream=True) as stream:
            return last([event async for event in stream])

    return run(api, work)


def raw(api, fields):
    response = api.client.responses.with_raw_response.create(**fields)
    assert response.headers["x-request-id"] == response.request_id
    return response.parse()


def raw_async(api, fields):
    async def work(client):
        return (await client.responses.with_raw_response.create(**fields)).parse()

    return run(api, work)


def raw_events(api, fields):
    with api.client.responses.with_raw_response.create(**fields, stream=True).parse() as stream:
        return last(stream)


def body(api, fields):
    with api.client.responses.with_streaming_response.create(**fields) as response:
        return response.parse()


def body_async(api, fields):
    async def work(client):
        async with client.responses.with_streaming_response.create(**fields) as response:
            return await response.parse()

    return run(api, work)


def lines(api, fields):
    with api.client.responses.with_streaming_response.create(**fields, stream=True) as response:
        return last_of_lines(response.iter_lines())


def lines_async(api, fields):
    async def work(client):
        async with client.responses.with_streaming_response.create(**fields, stream=True) as response:
            return last_of_lines([line async for line in response.iter_lines()])

    return run(api, work)


def parse(api, fields):
    return api.client.responses.parse(**fields)


def parse_async(api, fields):
    return run(api, lambda client: client.responses.parse(**fields))


def raw_parse(api, fields):
    return api.client.responses.with_raw_response.parse(**fields).parse()


def helper(api, fields):
    with api.client.responses.stream(**fields) as stream:
        return stream.until_done().get_final_response()


def helper_async(api, fields):
    async def work(client):
        async with client.responses.stream(**fields) as stream:
            return await stream.get_final_response()

    return run(api, work)


PLAIN = [create, create_async, events, events_async, raw, raw_async, raw_events, body, body_async, lines, lines_async]
PARSED = [parse, parse_async, raw_parse, helper, helper_async]
"""These also make objects of arguments."""
WAYS = PLAIN + PARSED


def ask(way, api, **fields):
    return way(api, {"model": "scripted", "input": "Weather?", "tools": [TOOL, OTHER], **fields})


def calls(response):
    found = [item for item in response.output if item.type == "function_call"]
    return [(item.name, json.loads(item.arguments)) for item in found]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("each", [1, 7, 1000])
def test_every_way_gives_the_same_response(api, way, each):
    api.engine.say(REPLY, each=each)
    response = ask(way, api)
    assert response.status == "completed"
    assert [item.type for item in response.output] == ["reasoning", "message", "function_call", "function_call"]
    assert response.output[0].content[0].text == "Hm, æøå 🌦"
    assert response.output_text == "One moment."
    assert calls(response) == [("get_weather", {"city": "Oslo"}), ("get_weather", {"city": "Bergen"})]
    assert response.usage.input_tokens == len(api.engine.prompts[-1])
    assert response.usage.total_tokens == response.usage.input_tokens + response.usage.output_tokens


@pytest.mark.parametrize("way", PARSED)
def test_arguments_become_what_a_class_describes(api, way):
    api.engine.say(TWO_CALLS, each=3)
    parsed = [item.parsed_arguments for item in ask(way, api).output]
    assert parsed == [GetWeather(city="Oslo"), GetWeather(city="Bergen")]


@pytest.mark.parametrize("way", PARSED)
def test_text_becomes_what_a_class_describes(api, way):
    api.engine.say('{"city": "Oslo"}', each=3)
    assert ask(way, api, text_format=GetWeather).output_parsed == GetWeather(city="Oslo")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "choice",
    [
        "auto",
        "required",
        {"type": "function", "name": "get_weather"},
        {"type": "allowed_tools", "mode": "auto", "tools": ALLOWED},
        {"type": "allowed_tools", "mode": "required", "tools": ALLOWED},
    ],
    ids=["auto", "required", "named", "allowed", "allowed and required"],
)
def test_every_way_takes_every_choice(api, way, choice):
    api.engine.say(CALL, each=5)
    assert calls(ask(way, api, tool_choice=choice, parallel_tool_calls=False)) == [("get_weather", {"city": "Oslo"})]
    assert "get_time" in api.engine.prompt


@pytest.mark.parametrize("way", WAYS)
def test_every_way_takes_none(api, way):
    api.engine.say(f"Like this: {CALL}", spelled=True)
    response = ask(way, api, tool_choice="none")
    assert (response.output_text, calls(response)) == (f"Like this: {CALL}", [])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("stored", [True, False])
def test_a_loop_of_tools_comes_to_its_end(api, way, stored):
    for text in (REPLY, CALL.replace("Oslo", "Voss"), "It is 3C everywhere."):
        api.engine.say(text, each=4)
    fields = {"input": [{"role": "user", "content": "Weather?"}], "store": stored}
    while calls(response := ask(way, api, **fields)):
        results = [
            {"type": "function_call_output", "call_id": item.call_id, "output": f"3C in {json.loads(item.arguments)}"}
            for item in response.output
            if item.type == "function_call"
        ]
        if stored:
            fields |= {"input": results, "previous_response_id": response.id}
        else:
            fields["input"] += [*response.output, *results]  # as they are, with what the SDK has put into them
    assert response.output_text == "It is 3C everywhere."
    assert [f"3C in {{'city': '{city}'}}" in api.engine.prompt for city in ("Oslo", "Bergen", "Voss")] == [True] * 3


@pytest.mark.parametrize("way", PLAIN)
def test_a_call_that_was_cut_is_given_as_far_as_it_got(api, way):
    api.engine.say(CALL, each=2)
    response = ask(way, api, max_output_tokens=CUT_TOKENS)
    (call,) = response.output
    assert (call.arguments, call.status, response.status) == ('{"city": "Osl', "incomplete", "incomplete")
    assert response.incomplete_details.reason == "max_output_tokens"


@pytest.mark.parametrize("way", WAYS)
def test_errors_are_the_sdks_own(api, way):
    api.engine.say("ok")
    with pytest.raises(openai.BadRequestError) as caught:
        ask(way, api, tool_choice={"type": "function", "name": "nothing"})
    assert (caught.value.param, caught.value.type) == ("tool_choice", "invalid_request_error")
    assert caught.value.request_id.startswith("req_")
    with pytest.raises(openai.NotFoundError):
        ask(way, api, model="gpt")
    api.engine.full = True
    with pytest.raises(openai.RateLimitError):
        ask(way, api)


def test_the_helper_tells_of_arguments_as_they_come(api):
    api.engine.say(TWO_CALLS, each=2)
    with api.client.responses.stream(model="scripted", input="Hi", tools=[TOOL]) as stream:
        found = list(stream)
    deltas = [event for event in found if event.type == "response.function_call_arguments.delta"]
    done = [event for event in found if event.type == "response.function_call_arguments.done"]
    assert [event.output_index for event in done] == [0, 1]
    for event in done:
        mine = [delta for delta in deltas if delta.output_index == event.output_index]
        assert len(mine) > 1
        assert "".join(delta.delta for delta in mine) == mine[-1].snapshot == event.arguments


class TestToolRunner:
    """The SDK's own loop, which checks what it gets more closely than most clients do."""

    @pytest.fixture
    def scripted(self, api):
        for text in (REPLY, CALL.replace("Oslo", "Voss"), "It is 3C everywhere."):
            api.engine.say(text, each=4)
        return api

    @pytest.mark.parametrize("streamed", [False, True])
    def test_it_calls_functions_until_the_answer(self, scripted, streamed):
        cities = []

        def weather(asked):
            cities.append(asked.city)
            return f"3C in {asked.city}"

        runner = ResponsesToolRunner(functions=[RegisteredFunction.from_tool(TOOL, execute=weather)])
        response = runner.run(scripted.client, {"model": "scripted", "input": "Weather?"}, stream=streamed)
        assert response.output_text == "It is 3C everywhere."
        assert cities == ["Oslo", "Bergen", "Voss"]
        assert [f"3C in {city}" in scripted.engine.prompt for city in cities] == [True] * 3

    @pytest.mark.parametrize("streamed", [False, True])
    def test_it_does_so_asynchronously(self, scripted, streamed):
        cities = []

        async def weather(asked):
            cities.append(asked.city)
            return f"3C in {asked.city}"

        async def work(client):
            runner = AsyncResponsesToolRunner(functions=[AsyncRegisteredFunction.from_tool(TOOL, execute=weather)])
            return await runner.run(client, {"model": "scripted", "input": "Weather?"}, stream=streamed)

        assert run(scripted, work).output_text == "It is 3C everywhere."
        assert cities == ["Oslo", "Bergen", "Voss"]
