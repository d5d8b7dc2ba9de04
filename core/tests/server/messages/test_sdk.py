"""The official SDK, sync and async, as people use it."""

from __future__ import annotations

import asyncio

import anthropic
import pytest
from anthropic import beta_async_tool, beta_tool
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
REPLY = f"<think>\nHm\n</think>\n\nOne moment. {CALL}"
HI = [{"role": "user", "content": "Weather in Oslo?"}]
FIELDS = {"model": "scripted", "max_tokens": 500, "messages": HI}


def weather_in(city):
    return f"3C in {city}"


def run(api, work):
    """Let ``work`` use the asynchronous client."""

    async def main():
        async with anthropic.AsyncAnthropic(base_url=api.served.url, api_key=api.sdk.api_key, max_retries=0) as client:
            return await work(client)

    return asyncio.run(main())


def create(api, **fields):
    return api.sdk.messages.create(**{**FIELDS, **fields})


def create_async(api, **fields):
    return run(api, lambda client: client.messages.create(**{**FIELDS, **fields}))


def stream(api, **fields):
    with api.sdk.messages.stream(**{**FIELDS, **fields}) as events:
        return events.get_final_message()


def stream_async(api, **fields):
    async def work(client):
        async with client.messages.stream(**{**FIELDS, **fields}) as events:
            return await events.get_final_message()

    return run(api, work)


def raw(api, **fields):
    response = api.sdk.messages.with_raw_response.create(**{**FIELDS, **fields})
    assert response.headers["request-id"] == response.request_id
    return response.parse()


def raw_async(api, **fields):
    async def work(client):
        response = await client.messages.with_raw_response.create(**{**FIELDS, **fields})
        return await response.parse()

    return run(api, work)


def body(api, **fields):
    with api.sdk.messages.with_streaming_response.create(**{**FIELDS, **fields}) as response:
        return response.parse()


def body_async(api, **fields):
    async def work(client):
        async with client.messages.with_streaming_response.create(**{**FIELDS, **fields}) as response:
            return await response.parse()

    return run(api, work)


def parse(api, **fields):
    return api.sdk.messages.parse(**{**FIELDS, **fields})


def parse_async(api, **fields):
    return run(api, lambda client: client.messages.parse(**{**FIELDS, **fields}))


def create_beta(api, **fields):
    return api.sdk.beta.messages.create(**{**FIELDS, **fields}, betas=["interleaved-thinking-2025-05-14"])


def stream_beta(api, **fields):
    with api.sdk.beta.messages.stream(**{**FIELDS, **fields}) as events:
        return events.get_final_message()


def stream_beta_async(api, **fields):
    async def work(client):
        async with client.beta.messages.stream(**{**FIELDS, **fields}) as events:
            return await events.get_final_message()

    return run(api, work)


def parse_beta(api, **fields):
    return api.sdk.beta.messages.parse(**{**FIELDS, **fields})


PARSED = [parse, parse_async, parse_beta, stream, stream_async, stream_beta, stream_beta_async]
"""These also make objects of answers."""
WAYS = [create, create_async, raw, raw_async, body, body_async, create_beta, *PARSED]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("each", [1, 7, 1000])
def test_every_way_gives_the_same_message(api, tool, way, each):
    api.engine.say(REPLY, each=each)
    message = way(api, tools=[tool])
    thinking, text, call = message.content
    assert (thinking.type, thinking.thinking, thinking.signature) == ("thinking", "Hm", "")
    assert (text.type, text.text) == ("text", "One moment.")
    assert (call.type, call.name, call.input) == ("tool_use", "get_weather", {"city": "Oslo"})
    assert (message.stop_reason, message.stop_sequence) == ("tool_use", None)
    assert message.usage.input_tokens == len(api.engine.prompts[-1])
    assert message.usage.output_tokens > 0


@pytest.mark.parametrize("way", WAYS)
def test_every_way_tells_why_the_reply_ended(api, way):
    api.engine.say("one two")
    message = way(api, stop_sequences=[" two"])
    assert (message.content[0].text, message.stop_reason, message.stop_sequence) == ("one", "stop_sequence", " two")


@pytest.mark.parametrize("way", WAYS)
def test_every_way_gets_what_there_is_of_a_call_that_was_cut(api, tool, way):
    api.engine.say('<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo", "x": "y', finish="length")
    message = way(api, tools=[tool])
    assert (message.content[0].input, message.stop_reason) == ({"city": "Oslo"}, "max_tokens")


@pytest.mark.parametrize("way", WAYS)
def test_every_way_gets_what_there_is_of_a_call_that_is_malformed(api, tool, way):
    api.engine.say(CALL.replace('{"city": "Oslo"}', '{"city": "Oslo", "days": two}'))
    message = way(api, tools=[tool])
    assert (message.content[0].input, message.stop_reason) == ({"city": "Oslo"}, "tool_use")


ARGUMENTS = '{"city": "Os\\u00e6l\\ud83d\\ude00o", "days": [1, -2.5e3, {"a": null}], "x": "y"}'


@given(
    st.integers(0, len(ARGUMENTS)),
    st.integers(0, 2),
    st.text(alphabet='{}[],:" \\u\nd8-1.t', max_size=4),
    st.booleans(),
    st.integers(1, 12),
)
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_a_stream_gives_the_same_message_as_a_whole_reply(api, tool, at, left_out, noise, cut, each):
    """Whatever is wrong with the arguments, in steps of any size."""
    arguments = ARGUMENTS[:at] + noise + ("" if cut else ARGUMENTS[at + left_out :])
    text = '<tool_call>\n{"name": "get_weather", "arguments": ' + arguments
    api.engine.reset()
    api.engine.say(text if cut else f"{text}}}\n</tool_call>", each=each, finish="length" if cut else "stop")
    whole, streamed = create(api, tools=[tool]).to_dict(), stream(api, tools=[tool]).to_dict()
    assert [comparable(block) for block in streamed["content"]] == [comparable(block) for block in whole["content"]]
    assert (streamed["stop_reason"], streamed["usage"]) == (whole["stop_reason"], whole["usage"])


def comparable(block):
    return {key: value for key, value in block.items() if key != "id" and value is not None}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    "choice", [{"type": "auto"}, {"type": "any"}, {"type": "tool", "name": "get_weather"}], ids=["auto", "any", "tool"]
)
def test_every_way_takes_every_choice(api, tool, way, choice, strict):
    api.engine.say(CALL, each=5)
    tools = [{**tool, "strict": strict}, {**tool, "name": "get_time"}]
    message = way(api, tools=tools, tool_choice={**choice, "disable_parallel_tool_use": True})
    assert [(block.name, block.input) for block in message.content] == [("get_weather", {"city": "Oslo"})]
    assert "get_time" in api.engine.prompt


@pytest.mark.parametrize("way", WAYS)
def test_every_way_takes_none(api, tool, way):
    api.engine.say(f"Like this: {CALL}", spelled=True)
    message = way(api, tools=[tool], tool_choice={"type": "none"})
    assert [block.text for block in message.content] == [f"Like this: {CALL}"]


def test_text_can_be_read_as_it_comes(api):
    api.engine.say("<think>\nHm\n</think>\n\nHello there.")
    with api.sdk.messages.stream(**FIELDS) as events:
        assert "".join(events.text_stream) == "Hello there."
        assert events.get_final_text() == "Hello there."
        assert events.request_id.startswith("req_")


def test_so_it_can_asynchronously(api):
    async def work(client):
        async with client.messages.stream(**FIELDS) as events:
            pieces = [piece async for piece in events.text_stream]
            return pieces, await events.get_final_text()

    api.engine.say("<think>\nHm\n</think>\n\nHello there.")
    pieces, whole = run(api, work)
    assert len(pieces) > 1
    assert "".join(pieces) == whole == "Hello there."


def test_events_can_be_read_as_they_come(api, tool):
    api.engine.say(REPLY)
    with api.sdk.messages.stream(**FIELDS, tools=[tool]) as events:
        kinds = [event.type for event in events]
    assert kinds[0] == "message_start"
    assert kinds[-2:] == ["message_delta", "message_stop"]
    assert {"thinking", "signature", "text", "input_json"} < set(kinds)


def test_raw_events_can_be_read_too(api):
    api.engine.say("Hi")
    with api.sdk.messages.create(**FIELDS, stream=True) as events:
        kinds = [event.type for event in events]
    assert kinds[:2] == ["message_start", "content_block_start"]
    assert kinds[-3:] == ["content_block_stop", "message_delta", "message_stop"]


def test_the_member_toolglot_can_be_read(api, tool):
    api.engine.say(CALL)
    assert create(api, tools=[tool]).toolglot == {"calls": [{"outcome": "ok", "repairs": []}]}
    with api.sdk.messages.create(**FIELDS, tools=[tool], stream=True) as events:
        (end,) = [event for event in events if event.type == "message_delta"]
    assert end.toolglot == {"calls": [{"outcome": "ok", "repairs": []}]}


def test_tokens_can_be_counted(api, tool):
    fields = {"model": "scripted", "messages": HI, "tools": [tool], "system": "Be kind."}
    count = api.sdk.messages.count_tokens(**fields).input_tokens
    assert count == api.sdk.beta.messages.count_tokens(**fields).input_tokens
    assert count == run(api, lambda client: client.messages.count_tokens(**fields)).input_tokens
    api.engine.say("ok")
    assert count == create(api, tools=[tool], system="Be kind.").usage.input_tokens


class Answer(BaseModel):
    city: str
    degrees: int


@pytest.mark.parametrize("way", PARSED)
def test_answers_can_be_parsed(api, tool, way):
    api.engine.say('{"city": "Oslo", "degrees": 3}', each=3)
    assert way(api, output_format=Answer, tools=[tool]).parsed_output == Answer(city="Oslo", degrees=3)
    assert api.engine.constraints[-1] is not None


@pytest.mark.parametrize("way", WAYS)
def test_a_loop_of_tools_comes_to_its_end(api, tool, way):
    two = CALL + "\n" + CALL.replace("Oslo", "Bergen")
    for text in (f"<think>\nTwo.\n</think>\n\nLet me see. {two}", CALL.replace("Oslo", "Voss"), "It is 3C everywhere."):
        api.engine.say(text)
    messages = list(HI)
    while (reply := way(api, tools=[tool], messages=messages)).stop_reason == "tool_use":
        calls = [block for block in reply.content if block.type == "tool_use"]
        messages += [
            {"role": "assistant", "content": reply.content},
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": call.id, "content": weather_in(**call.input)}
                    for call in calls
                ],
            },
        ]
    assert reply.content[0].text == "It is 3C everywhere."
    assert [f"3C in {city}" in api.engine.prompt for city in ("Oslo", "Bergen", "Voss")] == [True] * 3


class TestToolRunner:
    @pytest.fixture
    def scripted(self, api):
        for text in (CALL, CALL.replace("Oslo", "Bergen"), "It is 3C in both."):
            api.engine.say(text)
        return api

    @pytest.mark.parametrize("streamed", [False, True])
    def test_it_calls_functions_until_the_answer(self, scripted, streamed):
        cities = []

        @beta_tool
        def get_weather(city: str) -> str:
            """The weather.

            Args:
                city: Where.
            """
            cities.append(city)
            return weather_in(city)

        runner = scripted.sdk.beta.messages.tool_runner(**FIELDS, tools=[get_weather], stream=streamed)
        assert runner.until_done().content[0].text == "It is 3C in both."
        assert cities == ["Oslo", "Bergen"]
        assert "3C in Bergen" in scripted.engine.prompt

    @pytest.mark.parametrize("streamed", [False, True])
    def test_it_does_so_asynchronously(self, scripted, streamed):
        cities = []

        @beta_async_tool
        async def get_weather(city: str) -> str:
            """The weather."""
            cities.append(city)
            return weather_in(city)

        async def work(client):
            runner = client.beta.messages.tool_runner(**FIELDS, tools=[get_weather], stream=streamed)
            return await runner.until_done()

        assert run(scripted, work).content[0].text == "It is 3C in both."
        assert cities == ["Oslo", "Bergen"]

    def test_a_function_that_fails_is_told_to_the_model(self, scripted):
        @beta_tool
        def get_weather(city: str) -> str:
            """The weather."""
            raise ValueError(f"no weather in {city}")

        scripted.sdk.beta.messages.tool_runner(**FIELDS, tools=[get_weather]).until_done()
        assert "no weather in Oslo" in scripted.engine.prompt


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"extra_body": {"temperature": -1}}, anthropic.BadRequestError),
        ({"extra_body": {"model": "claude"}}, anthropic.NotFoundError),
    ],
)
def test_errors_are_the_sdks_own(api, fields, error):
    for way in WAYS:
        api.engine.say("ok")
        with pytest.raises(error) as caught:
            way(api, **fields)
        assert caught.value.request_id.startswith("req_")


def test_overload_is_the_sdks_own(api):
    api.engine.say("ok")
    api.engine.full = True
    with pytest.raises(anthropic.APIStatusError) as caught:
        create(api)
    assert (caught.value.status_code, caught.value.type) == (529, "overloaded_error")
