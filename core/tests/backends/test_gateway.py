"""The whole way: official clients, the server, an engine elsewhere."""

from __future__ import annotations

import json

import anthropic
import httpx
import openai
import pytest
from openai.lib.streaming.chat import ChatCompletionStreamState

CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
REPLY = f"Grüße 😀. {CALL}"
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
TOOL = {"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}}
STRICT = {"type": "function", "function": {**TOOL["function"], "strict": True}}
ASKED = {"model": "m", "messages": [{"role": "user", "content": "Weather in Oslo?"}], "tools": [TOOL]}


@pytest.fixture
async def chat(gateway, engine_for, stand_in):
    """Chat Completions in front of a stand-in, and the stand-in."""
    clients = []

    async def make(kind="vllm", *, timeouts=None, level=None, **settings):
        one = await stand_in(kind, **{"text": REPLY, **settings})
        url = await gateway(await engine_for(one, timeouts=timeouts or {}), strict_level=level)
        clients.append(openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0))
        return clients[-1].chat.completions, one

    yield make
    for client in clients:
        await client.close()


def the_call(message):
    (call,) = message.tool_calls
    return message.content, call.function.name, call.function.arguments


async def streamed(completions, **asked):
    state = ChatCompletionStreamState()
    async for chunk in await completions.create(**ASKED, **asked, stream=True):
        state.handle_chunk(chunk)
    return state.get_final_completion()


async def test_chat_completions_whole_and_streamed(kind, chat):
    completions, _ = await chat(kind)
    whole = (await completions.create(**ASKED)).choices[0]
    assert the_call(whole.message) == ("Grüße 😀.", "get_weather", '{"city": "Oslo"}')
    assert the_call((await streamed(completions)).choices[0].message) == the_call(whole.message)
    assert whole.finish_reason == "tool_calls"
    assert whole.model_extra["toolglot"] == {"calls": [{"outcome": "ok", "repairs": []}]}


async def test_usage_and_probabilities_come_from_the_engine(chat):
    completions, _ = await chat("vllm", text="Hi")
    found = await completions.create(**ASKED, logprobs=True, top_logprobs=1)
    assert (found.usage.completion_tokens, found.usage.prompt_tokens_details.cached_tokens) == (2, 3)
    assert [one.logprob for one in found.choices[0].logprobs.content] == [-0.5, -0.5]


async def test_responses_and_messages(chat, gateway, engine_for, stand_in):
    url = await gateway(await engine_for(await stand_in("sglang", text=REPLY)))
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        flat = {"type": "function", **TOOL["function"], "strict": False}
        found = await client.responses.create(model="m", input="Weather?", tools=[flat])
        assert [item.type for item in found.output] == ["message", "function_call"]
        assert found.output[1].arguments == '{"city": "Oslo"}'
    async with anthropic.AsyncAnthropic(base_url=url, api_key="none", max_retries=0) as client:
        tools = [{"name": "get_weather", "input_schema": SCHEMA}]
        asked = {"model": "m", "max_tokens": 500, "messages": ASKED["messages"], "tools": tools}
        async with client.messages.stream(**asked) as stream:
            message = await stream.get_final_message()
        assert message.content[-1].input == {"city": "Oslo"}
        assert message.stop_reason == "tool_use"


async def test_a_strict_tool_sends_a_tag_and_its_calls_are_checked_here_all_the_same(chat):
    completions, one = await chat(text=CALL)
    asked = {**ASKED, "tools": [STRICT]}
    found = (await completions.create(**asked)).choices[0]
    tag = json.loads(one.requests[-1]["structured_outputs"]["structural_tag"])
    assert tag["type"] == "structural_tag"
    assert "get_weather" in json.dumps(tag)
    assert found.model_extra["toolglot"]["calls"][0]["outcome"] == "ok"
    one.text = CALL.replace('"Oslo"', "5")  # it does not hold to the tag
    found = (await completions.create(**asked)).choices[0]
    assert found.model_extra["toolglot"]["calls"][0]["outcome"] == "schema_violation"


async def test_schemas_that_no_grammar_can_hold_to_do_not_reach_the_engine(chat):
    completions, one = await chat()
    wrong = {"type": "object", "properties": {"x": {"type": "string", "pattern": "(?=a)"}}, "required": ["x"]}
    tool = {"type": "function", "function": {"name": "f", "parameters": wrong, "strict": True}}
    with pytest.raises(openai.BadRequestError) as caught:
        await completions.create(**{**ASKED, "tools": [tool]})
    assert caught.value.param == "tools[0].function.parameters"
    assert one.requests == []


class TestWhatAnEngineCannotDo:
    async def test_fields_are_refused_by_name(self, chat):
        completions, one = await chat("llamacpp")
        for stream in (False, True):
            with pytest.raises(openai.BadRequestError, match="does not obey") as caught:
                await completions.create(**ASKED, stream=stream, extra_body={"min_tokens": 3})
            assert caught.value.param == "min_tokens"
        assert one.requests == []

    async def test_demanded_grammars_are_refused_and_others_are_told(self, chat):
        completions, _ = await chat("openai", level="parameter")
        for asked, param in (
            ({"tool_choice": "required"}, "tool_choice"),
            ({"tools": [STRICT]}, "tools[0].function.strict"),
            ({"tools": openai.omit, "response_format": json_format(strict=True)}, "response_format"),
        ):
            with pytest.raises(openai.BadRequestError, match="holds replies to no grammar") as caught:
                await completions.create(**{**ASKED, **asked})
            assert caught.value.param == param
        found = (await completions.create(**ASKED)).choices[0]
        assert the_call(found.message)[1:] == ("get_weather", '{"city": "Oslo"}')
        assert found.model_extra["toolglot"]["strict"] == "not_enforced"
        found = (
            await completions.create(**{**ASKED, "tools": openai.omit, "response_format": json_format(strict=False)})
        ).choices
        assert found[0].model_extra["toolglot"]["response_format"] == "not_enforced"


def json_format(*, strict):
    return {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA, "strict": strict}}


class TestFaults:
    """What clients see of them; and the next request works."""

    async def test_before_the_first_token_they_are_errors(self, chat):
        completions, one = await chat()
        cases = ((500, 503, "engine_unavailable"), ("dies", 503, "engine_unavailable"), (429, 429, "queue_full"))
        for fault, status, code in (
            *cases,
            (400, 400, None),
            (404, 500, "engine_error"),
            ("garbage", 503, "engine_unavailable"),
        ):
            for stream in (False, True):
                one.fault, one.times = fault, 1
                with pytest.raises(openai.APIStatusError) as caught:
                    await completions.create(**ASKED, stream=stream)
                assert (caught.value.status_code, caught.value.code) == (status, code)
                assert "127.0.0.1" not in caught.value.message
                assert (await completions.create(**ASKED)).choices[0].finish_reason == "tool_calls"

    @pytest.mark.parametrize("fault", ["dies", "ends", "garbage", "cut line", "stalls"])
    async def test_in_mid_stream_they_end_it_with_an_error(self, chat, fault, eventually):
        completions, one = await chat(fault=fault, after=3, times=1, timeouts={"next_token": 0.3})
        told = []

        async def read():
            async for chunk in await completions.create(**ASKED, stream=True):
                told.append(chunk.choices[0].delta.content or "")  # noqa: PERF401  an error comes between

        with pytest.raises(openai.APIError, match="the engine"):
            await read()
        assert REPLY.startswith("".join(told))
        await eventually(lambda: one.running == 0)
        assert (await streamed(completions)).choices[0].message.content == "Grüße 😀."

    async def test_a_client_that_leaves_ends_it_at_the_engine(self, chat, eventually):
        completions, one = await chat("sglang", delay=0.02)
        stream = await completions.create(**ASKED, stream=True)
        async for _ in stream:
            break
        await stream.close()
        await eventually(lambda: one.running == 0 and one.hung_up == 1)
        await eventually(lambda: one.aborted == [one.requests[-1]["rid"]])

    async def test_an_engine_that_is_not_well_makes_the_server_not_ready(
        self, gateway, engine_for, stand_in, eventually
    ):
        one = await stand_in(health=500)
        engine = await engine_for(one)
        url = await gateway(engine)
        async with httpx.AsyncClient(base_url=url) as client:
            await eventually(lambda: not engine.ready)
            assert (await client.get("/ready")).status_code == 503
            assert (await client.get("/health")).status_code == 200
