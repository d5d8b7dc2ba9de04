"""Replies: whole and streamed ones mean the same, are as the official types have them, and lose nothing."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest
from openai.types.responses import Response
from pydantic import BaseModel

from toolglot.errors import EngineError

CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
TWO_CALLS = CALL + "\n" + CALL.replace("Oslo", "Bergen")
ARGUMENTS = '{"city": "Oslo"}'
REPLY = f"<think>\nHm, æøå 🌦\n</think>\n\nOne moment. {CALL}"


def kinds(response: dict[str, Any]) -> list[str]:
    return [item["type"] for item in response["output"]]


def text(response: dict[str, Any]) -> str:
    return Response.model_validate(response).output_text


class TestOutput:
    @pytest.mark.parametrize("each", [1, 3, 7, 1000])
    def test_reasoning_text_and_calls_come_back_the_same_both_ways(self, api, tool, each):
        api.engine.say(REPLY, each=each)
        response = api.both(tools=[tool])
        reasoning, message, call = response["output"]
        assert reasoning["content"] == [{"type": "reasoning_text", "text": "Hm, æøå 🌦"}]
        assert reasoning["summary"] == []
        assert message["content"] == [{"type": "output_text", "text": "One moment.", "annotations": [], "logprobs": []}]
        assert (call["name"], call["arguments"], call["status"]) == ("get_weather", ARGUMENTS, "completed")
        assert response["status"] == "completed"
        assert response["completed_at"] >= response["created_at"]
        assert response["toolglot"] == {"calls": [{"outcome": "ok", "repairs": []}]}

    def test_items_come_in_the_order_in_which_they_were_written(self, api, tool):
        api.engine.say(f"First. {CALL}\nThen this.\n{CALL}")
        response = api.both(tools=[tool])
        assert kinds(response) == ["message", "function_call", "message", "function_call"]
        assert response["output"][0]["content"][0]["text"] == "First."
        assert response["output"][2]["content"][0]["text"].strip() == "Then this."

    def test_ids_are_of_their_kind_and_all_different(self, api, tool):
        api.engine.say(REPLY + TWO_CALLS)
        first, second = api.create(tools=[tool]), api.create(tools=[tool])
        ids = [one["id"] for response in (first, second) for one in (response, *response["output"])]
        assert [made.split("_")[0] for made in ids] == 2 * ["resp", "rs", "msg", "fc", "fc", "fc"]
        calls = [item["call_id"] for response in (first, second) for item in response["output"] if "call_id" in item]
        assert len({*ids, *calls}) == len(ids) + len(calls)
        assert all(len(made.split("_")[1]) == 48 for made in ids)

    def test_ids_stay_the_same_from_the_first_event_to_the_last(self, api, tool):
        api.engine.say(REPLY)
        events = api.events(tools=[tool])
        assert len({event["response"]["id"] for event in events if "response" in event}) == 1
        added = [event["item"]["id"] for event in events if event["type"].endswith("item.added")]
        assert added == [item["id"] for item in events[-1]["response"]["output"]]

    def test_a_call_that_cannot_be_read_is_text(self, api, tool):
        broken = '<tool_call>\n{"name": get_weather</tool_call>'
        api.engine.say(f"So: {broken} and so on")
        response = api.both(tools=[tool])
        assert text(response) == f"So: {broken} and so on"
        assert kinds(response) == ["message"]

    def test_a_call_that_breaks_off_its_format_keeps_what_it_said(self, api, tool):
        api.engine.say('<tool_call>\n{"name": "get_weather", "arguments": {"city": Oslo}}\n</tool_call>')
        response = api.both(tools=[tool])
        (call,) = response["output"]
        assert "Oslo" in call["arguments"]
        assert response["toolglot"]["calls"][0]["outcome"] == "malformed"

    def test_without_tools_what_looks_like_a_call_is_text(self, api):
        api.engine.say(f"Like this: {CALL}")
        assert text(api.both()) == f"Like this: {CALL}"
        assert text(api.both(tools=[])) == f"Like this: {CALL}"

    def test_an_answer_without_text_is_an_empty_message(self, api):
        api.engine.say("")
        response = api.both()
        assert (kinds(response), text(response)) == (["message"], "")

    def test_the_extension_can_be_left_out(self, api_with, tool):
        api = api_with(extensions=False)
        api.engine.say(CALL)
        assert "toolglot" not in api.both(tools=[tool])

    def test_tokens_are_counted(self, api):
        api.engine.say("<think>\nabc\n</think>\n\nfour")
        usage = api.both()["usage"]
        assert usage["input_tokens"] == len(api.engine.prompts[-1])
        assert usage["output_tokens"] == len("\nabc\n\n\nfour") + 2
        assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
        assert 3 <= usage["output_tokens_details"]["reasoning_tokens"] <= 10
        assert usage["input_tokens_details"]["cached_tokens"] == 0
        api.engine.scripts = []
        api.engine.say("four", cached=3)
        usage = api.both()["usage"]
        assert usage["output_tokens_details"] == {"reasoning_tokens": 0}
        assert usage["input_tokens_details"]["cached_tokens"] == 3

    def test_the_verbosity_is_echoed(self, api):
        api.engine.say("Hi")
        assert api.both(text={"verbosity": "low"})["text"] == {"format": {"type": "text"}, "verbosity": "low"}

    def test_the_request_is_echoed(self, api, tool):
        api.engine.say("Hi")
        given = {
            "instructions": "Be kind.",
            "metadata": {"run": "7"},
            "user": "u1",
            "safety_identifier": "s1",
            "prompt_cache_key": "k1",
            "temperature": 0.5,
            "top_p": 0.25,
            "max_output_tokens": 99,
            "max_tool_calls": 3,
            "parallel_tool_calls": False,
            "truncation": "auto",
            "tool_choice": "none",
        }
        response = api.both(**given, tools=[tool], reasoning={"effort": "low", "summary": "auto"})
        assert {key: response[key] for key in given} == given
        assert response["reasoning"] == {"effort": "low", "summary": "auto"}
        assert response["tools"] == [tool]
        assert response["text"] == {"format": {"type": "text"}, "verbosity": "medium"}
        sampling = api.engine.samplings[-1]
        assert (sampling.temperature, sampling.top_p, sampling.max_tokens) == (0.5, 0.25, 99)
        assert "effort: low" in api.engine.prompt

    def test_defaults_are_told(self, api):
        api.engine.say("Hi")
        response = api.both()
        expected = {
            "temperature": 1.0, "top_p": 1.0, "tool_choice": "auto", "tools": [], "parallel_tool_calls": True,
            "truncation": "disabled", "store": True, "metadata": {}, "previous_response_id": None, "error": None,
            "incomplete_details": None, "background": False, "user": None,
        }  # fmt: skip
        assert {key: response[key] for key in expected} == expected


class TestLogprobs:
    INCLUDE = {"include": ["message.output_text.logprobs"], "top_logprobs": 2}  # noqa: RUF012  it is never changed

    @pytest.mark.parametrize("each", [1, 5])
    def test_the_text_s_tokens_are_told(self, api, tool, each):
        api.engine.say(f"<think>\nHm\n</think>\n\nÆsj <b>. {CALL}", each=each)
        response = api.both(**self.INCLUDE, tools=[tool])
        (part,) = response["output"][1]["content"]
        assert (
            bytes(byte for token in part["logprobs"] for byte in token["bytes"]).decode() == part["text"] == "Æsj <b>."
        )
        assert all(len(token["top_logprobs"]) == 2 for token in part["logprobs"])
        assert response["top_logprobs"] == 2

    def test_a_stream_tells_each_once(self, api):
        api.engine.say("One <moment>.")
        events = api.events(**self.INCLUDE)
        deltas = [event for event in events if event["type"] == "response.output_text.delta"]
        told = [token["token"] for event in deltas for token in event["logprobs"]]
        assert "".join(told) == "One <moment>."
        (done,) = (event for event in events if event["type"] == "response.output_text.done")
        assert [token["token"] for token in done["logprobs"]] == told

    def test_none_are_told_unasked(self, api):
        api.engine.say("One")
        assert api.both()["output"][0]["content"][0]["logprobs"] == []
        assert api.engine.samplings[-1].logprobs is None


class TestPublicFaults:
    """Faults of other servers that were reported in public, and do not happen here. Each test names the report."""

    def test_a_streamed_call_is_no_raw_markup(self, api_with, tool):
        """vllm-project/vllm#36445, ai-dynamo/dynamo#10988"""
        api = api_with(parser="qwen3_coder")
        call = "<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</function>"
        api.engine.say(f"<tool_call>\n{call}\n</tool_call>")
        events = api.events(tools=[tool])
        types = [event["type"].removeprefix("response.") for event in events[2:]]
        assert types[0] == "output_item.added"
        assert set(types[1:-3]) == {"function_call_arguments.delta"}
        assert types[-3:] == ["function_call_arguments.done", "output_item.done", "completed"]
        (item,) = events[-1]["response"]["output"]
        assert (item["name"], json.loads(item["arguments"])) == ("get_weather", {"city": "Oslo"})

    @pytest.mark.parametrize(
        "call",
        [
            '{"name": "\\ud800", "arguments": {}}',
            '{"name": "get_weather", "arguments": "{\\"city\\": \\"\\ud800\\"}"}',
        ],
    )
    def test_lone_surrogates_that_a_model_writes_cost_nothing(self, api, tool, call):
        api.engine.say(f"<tool_call>\n{call}\n</tool_call>", each=1000)
        response = api.both(tools=[tool])
        assert kinds(response) == ["function_call"]
        assert api.http.get(f"/v1/responses/{response['id']}").json() == response


class TestLength:
    def test_text_that_is_cut_is_incomplete(self, api):
        api.engine.say("one two three")
        response = api.both(max_output_tokens=7)
        assert (response["status"], response["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
        assert (text(response), response["output"][0]["status"]) == ("one two", "incomplete")
        assert response["completed_at"] is None

    def test_a_call_that_is_cut_is_delivered_as_far_as_it_got(self, api, tool):
        api.engine.say(CALL)
        response = api.both(tools=[tool], max_output_tokens=50)
        (call,) = response["output"]
        assert call["status"] == "incomplete"
        assert ARGUMENTS.startswith(call["arguments"])
        assert call["arguments"] != ARGUMENTS
        assert response["toolglot"]["calls"][0]["outcome"] == "truncated"

    def test_reasoning_that_is_cut_is_all_there_is(self, api):
        api.engine.say("<think>\nlong thoughts</think>")
        response = api.both(max_output_tokens=6)
        assert [(item["type"], item["status"]) for item in response["output"]] == [("reasoning", "incomplete")]


class TestFailure:
    def test_a_failure_on_the_way_is_an_event_with_the_output_so_far(self, api):
        api.engine.say("Half", error=EngineError("the device is lost"))
        *_, error, failed = api.events()
        assert (error["type"], error["message"], error["code"]) == ("error", "the device is lost", "engine_error")
        response = failed["response"]
        assert response["status"] == "failed"
        assert response["error"] == {"code": "server_error", "message": "the device is lost"}
        assert [(item["status"], item["content"][0]["text"]) for item in response["output"]] == [("incomplete", "Half")]
        assert api.http.get(f"/v1/responses/{response['id']}").status_code == 404

    def test_a_failure_before_the_first_byte_is_an_error_response(self, api):
        api.engine.say("", error=EngineError("the device is lost"))
        assert api.error(500)["message"] == "the device is lost"
        api.engine.full = True
        assert api.error(429)["code"] == "queue_full"


class TestOfficialClient:
    def test_it_reads_a_whole_response(self, api, tool):
        api.engine.say(REPLY)
        response = api.client.responses.create(model="scripted", input="Hi", tools=[tool])
        assert response.output_text == "One moment."
        assert json.loads(response.output[2].arguments) == {"city": "Oslo"}
        assert response.usage.total_tokens > 0

    def test_its_stream_helper_gives_the_same(self, api, tool):
        api.engine.say(REPLY + TWO_CALLS, each=2)
        with api.client.responses.stream(model="scripted", input="Hi", tools=[tool]) as stream:
            snapshots = [event.snapshot for event in stream if event.type == "response.output_text.delta"]
            final = stream.get_final_response()
        assert snapshots[-1] == final.output_text == "One moment."
        assert [json.loads(item.arguments)["city"] for item in final.output[2:]] == ["Oslo", "Oslo", "Bergen"]
        assert final.output[0].content[0].text == "Hm, æøå 🌦"

    def test_it_parses_what_a_class_describes(self, api):
        class Weather(BaseModel):
            city: str
            degrees: int

        api.engine.say('{"city": "Oslo", "degrees": -3}')
        parsed = api.client.responses.parse(model="scripted", input="Hi", text_format=Weather)
        assert parsed.output_parsed == Weather(city="Oslo", degrees=-3)
        with api.client.responses.stream(model="scripted", input="Hi", text_format=Weather) as stream:
            assert stream.get_final_response().output_parsed == parsed.output_parsed

    def test_it_parses_the_arguments_of_a_class(self, api):
        class GetWeather(BaseModel):
            city: str

        tool = openai.pydantic_function_tool(GetWeather, name="get_weather")["function"]
        api.engine.say(CALL)
        response = api.client.responses.parse(model="scripted", input="Hi", tools=[{"type": "function", **tool}])
        assert response.output[0].parsed_arguments == {"city": "Oslo"}

    async def test_the_async_client_does_all_of_it(self, api, tool):
        class Weather(BaseModel):
            city: str

        async with openai.AsyncOpenAI(base_url=f"{api.served.url}/v1", api_key="none", max_retries=0) as client:
            api.engine.say(REPLY)
            whole = await client.responses.create(model="scripted", input="Hi", tools=[tool])
            async with client.responses.stream(model="scripted", input="Hi", tools=[tool]) as stream:
                final = await stream.get_final_response()
            raw = await client.responses.create(model="scripted", input="Hi", tools=[tool], stream=True)
            types = [event.type async for event in raw]
            api.engine.scripts = []
            api.engine.say(ARGUMENTS)
            parsed = await client.responses.parse(model="scripted", input="Hi", text_format=Weather)
        assert [item.type for item in whole.output] == [item.type for item in final.output]
        assert final.output_text == whole.output_text
        assert types[-1] == "response.completed"
        assert parsed.output_parsed == Weather(city="Oslo")

    def test_it_sends_results_back_by_hand(self, api, tool):
        api.engine.say(REPLY)
        conversation: list[Any] = [{"role": "user", "content": "Weather?"}]
        first = api.client.responses.create(model="scripted", input=conversation, tools=[tool], store=False)
        conversation += first.output
        call = first.output[-1]
        conversation.append({"type": "function_call_output", "call_id": call.call_id, "output": "rain"})
        api.engine.scripts = []
        api.engine.say("It rains.")
        second = api.client.responses.create(model="scripted", input=conversation, tools=[tool], store=False)
        assert second.output_text == "It rains."
        assert '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>' in api.engine.prompt
        assert "<|im_start|>tool\nrain" in api.engine.prompt

    def test_it_goes_on_from_a_stored_response(self, api, tool):
        api.engine.say(REPLY)
        first = api.client.responses.create(model="scripted", input="Weather?", tools=[tool], instructions="Be kind.")
        api.engine.scripts = []
        api.engine.say("It rains.")
        result = {"type": "function_call_output", "call_id": first.output[-1].call_id, "output": "rain"}
        second = api.client.responses.create(
            model="scripted", previous_response_id=first.id, input=[result], tools=[tool]
        )
        assert second.previous_response_id == first.id
        for part in ("Weather?", "One moment.", '<tool_call>\n{"name": "get_weather"', "<|im_start|>tool\nrain"):
            assert api.engine.prompt.count(part) == 1
        assert "Be kind." not in api.engine.prompt
