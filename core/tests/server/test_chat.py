"""Replies: whole and streamed ones mean the same, and carry what the request asked for."""

from __future__ import annotations

import json

import openai
import pytest

CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
TWO_CALLS = CALL + "\n" + CALL.replace("Oslo", "Bergen")
ARGUMENTS = '{"city": "Oslo"}'


def named(name):
    return {"type": "function", "function": {"name": name}}


@pytest.mark.parametrize("each", [1, 3, 1000])
def test_content_reasoning_and_calls_come_back_the_same_both_ways(served, weather, each):
    served.engine.say(f"<think>\nHm, æøå 🌦\n</think>\n\nOne moment. {CALL}", each=each)
    reply = served.both(tools=[weather])
    assert (reply.content, reply.reasoning) == ("One moment.", "Hm, æøå 🌦")
    assert reply.calls == [("get_weather", ARGUMENTS)]
    assert reply.finish == "tool_calls"
    assert reply.extension == {"calls": [{"outcome": "ok", "repairs": []}]}


@pytest.mark.parametrize(("marker", "repairs"), [("</tool_call>", []), ("<|im_end|>", ["missing_closer"])])
def test_a_stop_token_that_is_a_marker_is_read(served, weather, tokenizer, marker, repairs):
    served.engine.say(CALL.removesuffix("</tool_call>"), stop_token=tokenizer.convert_tokens_to_ids(marker))
    reply = served.both(tools=[weather])
    assert (reply.content, reply.calls) == (None, [("get_weather", ARGUMENTS)])
    assert reply.extension == {"calls": [{"outcome": "ok", "repairs": repairs}]}


def test_within_a_grammar_the_stop_token_only_ends_the_reply(served, weather, tokenizer):
    served.engine.say(CALL, stop_token=tokenizer.convert_tokens_to_ids("</tool_call>"))
    reply = served.both(tools=[weather], tool_choice="required")
    assert (reply.content, reply.calls) == (None, [("get_weather", ARGUMENTS)])
    assert reply.extension == {"calls": [{"outcome": "ok", "repairs": []}]}


def test_the_official_client_reads_a_whole_reply(served, weather):
    served.engine.say(CALL)
    completion = served.chat(tools=[weather])
    (choice,) = completion.choices
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content is None
    assert choice.message.role == "assistant"
    (call,) = choice.message.tool_calls
    assert (call.type, call.function.name, json.loads(call.function.arguments)) == (
        "function",
        "get_weather",
        {"city": "Oslo"},
    )
    assert completion.object == "chat.completion"
    assert completion.usage.total_tokens == completion.usage.prompt_tokens + completion.usage.completion_tokens


def test_the_official_stream_helper_reads_a_streamed_reply(served, weather):
    served.engine.say(f"Let me see.\n{TWO_CALLS}", each=2)
    messages = [{"role": "user", "content": "Hi"}]
    with served.client.chat.completions.stream(model="scripted", messages=messages, tools=[weather]) as stream:
        final = stream.get_final_completion()
    (choice,) = final.choices
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content == "Let me see."
    assert [json.loads(call.function.arguments)["city"] for call in choice.message.tool_calls] == ["Oslo", "Bergen"]
    assert len({call.id for call in choice.message.tool_calls}) == 2


async def test_the_async_client_reads_both(served, weather):
    served.engine.say(CALL)
    messages = [{"role": "user", "content": "Hi"}]
    async with openai.AsyncOpenAI(base_url=f"{served.url}/v1", api_key="none", max_retries=0) as client:
        whole = await client.chat.completions.create(model="scripted", messages=messages, tools=[weather])
        stream = await client.chat.completions.create(model="scripted", messages=messages, tools=[weather], stream=True)
        pieces = [
            call.function.arguments
            async for chunk in stream
            for choice in chunk.choices
            for call in choice.delta.tool_calls or []
        ]
    assert whole.choices[0].message.tool_calls[0].function.arguments == "".join(pieces) == ARGUMENTS


def test_a_result_can_be_sent_back(served, weather):
    served.engine.say(CALL)
    served.engine.say("It rains.")
    messages = [{"role": "user", "content": "Weather in Oslo?"}]
    first = served.chat(messages=messages, tools=[weather]).choices[0].message
    messages += [first.model_dump(), {"role": "tool", "tool_call_id": first.tool_calls[0].id, "content": "rain"}]
    assert served.chat(messages=messages, tools=[weather]).choices[0].message.content == "It rains."
    assert '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>' in served.engine.prompt
    assert "<|im_start|>tool\nrain" in served.engine.prompt


def test_what_a_user_writes_never_becomes_a_marker(served, tokenizer, weather):
    served.engine.say("ok")
    served.chat(messages=[{"role": "user", "content": "<tool_call><|im_end|>"}], tools=[weather])
    marker, end = tokenizer.convert_tokens_to_ids(["<tool_call>", "<|im_end|>"])
    assert marker not in served.engine.prompts[-1]
    assert served.engine.prompts[-1].count(end) == 2  # the tools' and the user's turn
    assert "<tool_call><|im_end|>" in served.engine.prompt


def test_tokens_are_counted_without_the_stop_token(served, tokenizer):
    served.engine.say("four")
    usage = served.both().usage
    assert usage["completion_tokens"] == 4
    assert usage["prompt_tokens"] == len(served.engine.prompts[-1])
    assert usage["total_tokens"] == usage["prompt_tokens"] + 4


def test_what_the_engine_knew_of_the_prompt_is_told(served):
    served.engine.say("four", cached=3)
    assert served.both().usage["prompt_tokens_details"] == {"cached_tokens": 3}
    assert served.post(n=2).json()["usage"]["prompt_tokens_details"] == {"cached_tokens": 3}
    served.engine.reset()
    served.engine.say("four")
    assert served.both().usage["prompt_tokens_details"] == {"cached_tokens": 0}


def test_an_empty_reply_is_null(served):
    served.engine.say("")
    reply = served.both()
    assert (reply.content, reply.finish, reply.usage["completion_tokens"]) == (None, "stop", 0)


class TestToolChoice:
    def test_tools_without_a_choice_mean_auto(self, served, weather):
        served.engine.say(CALL)
        assert served.both(tools=[weather], tool_choice=None).calls == served.both(tools=[weather]).calls != []
        assert served.engine.constraints == [None] * 4

    def test_a_strict_tool_makes_auto_constrained(self, served, weather):
        weather["function"]["strict"] = True
        served.engine.say(CALL)
        assert served.both(tools=[weather]).finish == "tool_calls"
        assert None not in served.engine.constraints
        served.engine.scripts = []
        served.engine.say(CALL.replace("city", "town"))
        assert "the grammar refuses" in served.post(tools=[weather]).text

    @pytest.mark.parametrize("choice", ["required", named("get_weather")], ids=["required", "named"])
    def test_a_demanded_call_is_constrained_and_finishes_as_tool_calls(self, served, weather, choice):
        served.engine.say(CALL)
        assert served.both(tools=[weather], tool_choice=choice).finish == "tool_calls"
        assert None not in served.engine.constraints
        served.engine.scripts = []
        served.engine.say("No.")
        assert "the grammar refuses" in served.post(tools=[weather], tool_choice=choice).text

    def test_none_gives_no_call_and_keeps_the_text(self, served, weather):
        served.engine.say(f"An example:\n{CALL}\nThat is the format.", spelled=True)
        reply = served.both(tools=[weather], tool_choice="none")
        assert reply.content == f"An example:\n{CALL}\nThat is the format."
        assert (reply.calls, reply.finish, reply.extension) == ([], "stop", None)
        assert "get_weather" in served.engine.prompt

    def test_none_can_leave_the_tools_out_of_the_prompt(self, serving, weather):
        served = serving(exclude_tools_when_tool_choice_none=True)
        served.engine.say(CALL)
        assert served.both(tools=[weather], tool_choice="none").calls == []
        assert "get_weather" not in served.engine.prompt
        assert served.both(tools=[weather]).calls != []
        assert "get_weather" in served.engine.prompt

    @pytest.mark.parametrize("choice", ["auto", "none"])
    def test_auto_and_none_need_no_tools(self, served, choice):
        served.engine.say(f"Roses are red. {CALL}")
        reply = served.both(tool_choice=choice)
        assert (reply.content, reply.calls) == (f"Roses are red. {CALL}", [])

    def test_several_calls_where_one_was_asked_for_are_delivered_and_noted(self, served, weather):
        served.engine.say(TWO_CALLS)
        reply = served.both(tools=[weather], parallel_tool_calls=False)
        assert len(reply.calls) == 2
        assert reply.extension["parallel_tool_calls"] == "not_enforced"
        assert "parallel_tool_calls" not in served.both(tools=[weather], parallel_tool_calls=None).extension

    def test_auto_needs_its_flag_and_a_demanded_call_does_not(self, serving, weather):
        served = serving(enable_auto_tool_choice=False)
        served.engine.say(CALL)
        error = served.error(400, tools=[weather])
        assert error["param"] == "tool_choice"
        assert error["message"].startswith('"auto" tool choice requires --enable-auto-tool-choice')
        assert served.both(tools=[weather], tool_choice="required").calls != []


class TestLength:
    def test_a_reply_that_is_cut_says_so(self, served):
        served.engine.say("one two three")
        reply = served.both(max_tokens=7)
        assert (reply.content, reply.finish) == ("one two", "length")

    def test_a_call_that_is_cut_is_delivered_as_far_as_it_got(self, served, weather):
        served.engine.say(CALL)
        reply = served.both(tools=[weather], max_completion_tokens=50)
        ((name, arguments),) = reply.calls
        assert name == "get_weather"
        assert ARGUMENTS.startswith(arguments)
        assert arguments != ARGUMENTS
        assert reply.finish == "length"
        assert reply.extension["calls"][0]["outcome"] == "truncated"

    def test_a_character_that_is_cut_is_replaced(self, served):
        served.engine.say("å🌦")
        assert served.both(max_tokens=4).content == "å\N{REPLACEMENT CHARACTER}"

    def test_without_a_limit_the_rest_of_the_context_may_be_used(self, served):
        served.engine.say("Hi")
        served.both()
        assert served.engine.samplings[-1].max_tokens == 6000 - len(served.engine.prompts[-1])

    def test_the_newer_name_of_the_limit_wins(self, served):
        served.engine.say("Hi")
        served.both(max_tokens=5, max_completion_tokens=9)
        assert served.engine.samplings[-1].max_tokens == 9


class TestStop:
    def test_a_stop_string_ends_the_reply_before_itself(self, served):
        served.engine.say("one two three four")
        reply = served.both(stop=["zzz", " three"])
        assert (reply.content, reply.finish) == ("one two", "stop")

    def test_generation_is_cancelled_at_the_stop_string(self, served):
        served.engine.say("go!" + "x" * 500)
        assert served.both(stop="!").content == "go"
        assert served.engine.yielded < 20
        served.wait_idle()

    @pytest.mark.parametrize("each", [1, 3, 100])
    def test_what_a_step_brought_after_the_stop_string_is_not_counted(self, served, each):
        served.engine.say("one, two; three, four", each=each)
        reply = served.both(stop=";")
        assert (reply.content, reply.usage["completion_tokens"]) == ("one, two", len("one, two;"))

    def test_reasoning_and_arguments_are_not_searched(self, served, weather):
        served.engine.say(f"<think>\nOslo\n</think>\n\n{CALL}")
        reply = served.both(tools=[weather], stop="Oslo")
        assert (reply.reasoning, reply.calls) == ("Oslo", [("get_weather", ARGUMENTS)])
        assert reply.finish == "tool_calls"

    def test_a_call_before_the_stop_string_is_kept(self, served, weather):
        served.engine.say(f"{CALL} And now. The end")
        reply = served.both(tools=[weather], stop=".")
        assert (reply.calls, reply.finish) == ([("get_weather", ARGUMENTS)], "tool_calls")
        assert reply.content.strip() == "And now"

    def test_an_empty_list_stops_nothing(self, served):
        served.engine.say("one")
        assert served.both(stop=[]).content == "one"


class TestReasoning:
    def test_it_can_be_left_out(self, served):
        served.engine.say("<think>\nHm\n</think>\n\nYes.")
        assert served.both().reasoning == "Hm"
        reply = served.both(include_reasoning=False)
        assert (reply.content, reply.reasoning) == ("Yes.", None)

    def test_a_prompt_that_closed_it_gives_content(self, served):
        served.engine.say("The answer is 4.")
        reply = served.both(chat_template_kwargs={"enable_thinking": False})
        assert served.engine.prompt.endswith("</think>\n\n")
        assert (reply.content, reply.reasoning) == ("The answer is 4.", None)

    def test_a_prompt_that_opened_it_gives_reasoning(self, served):
        served.engine.say("Two and two\n</think>\n\nThe answer is 4.")
        reply = served.both(chat_template_kwargs={"enable_thinking": True})
        assert (reply.content, reply.reasoning) == ("The answer is 4.", "Two and two")

    def test_both_field_names_are_there(self, served):
        served.engine.say("<think>\nHm\n</think>\n\nYes.")
        message = served.post().json()["choices"][0]["message"]
        assert message["reasoning"] == message["reasoning_content"] == "Hm"

    def test_effort_reaches_the_template(self, served):
        served.engine.say("ok")
        served.both(reasoning_effort="low")
        assert served.engine.prompt.endswith("effort: low\n")


class TestSampling:
    def test_values_reach_the_engine(self, served):
        served.engine.say("ok")
        served.both(temperature=0.3, top_p=0.9, top_k=40, min_p=0.05, seed=7, ignore_eos=True)
        sampling = served.engine.samplings[-1]
        assert (sampling.temperature, sampling.top_p, sampling.top_k) == (0.3, 0.9, 40)
        assert (sampling.min_p, sampling.seed, sampling.ignore_eos) == (0.05, 7, True)

    def test_null_is_the_default(self, served):
        served.engine.say("ok")
        served.both()
        plain = served.engine.samplings[-1]
        served.both(temperature=None, top_p=None, top_k=None, min_p=None, seed=None, stop=None)
        assert served.engine.samplings[-1] == plain
        assert (plain.temperature, plain.top_p, plain.top_k, plain.min_p, plain.seed) == (1.0, 1.0, 0, 0.0, None)

    def test_vllms_off_value_of_top_k_is_understood(self, served):
        served.engine.say("ok")
        served.both(top_k=-1)
        assert served.engine.samplings[-1].top_k == 0


class TestSpecialTokens:
    def test_they_are_left_out_unless_asked_for(self, served):
        served.engine.say("a<|note|>b")
        assert served.both().content == "ab"
        assert served.both(skip_special_tokens=False).content == "a<|note|>b"


class TestConfiguration:
    def test_extensions_can_be_left_out(self, serving, weather):
        served = serving(extensions=False)
        served.engine.say(CALL)
        reply = served.both(tools=[weather])
        assert (len(reply.calls), reply.extension) == (1, None)

    def test_defaults_of_the_template_can_be_set_and_overridden(self, serving):
        served = serving(default_chat_template_kwargs={"enable_thinking": False})
        served.engine.say("ok")
        served.both()
        assert served.engine.prompt.endswith("</think>\n\n")
        served.both(chat_template_kwargs={"enable_thinking": True})
        assert served.engine.prompt.endswith("<think>\n")

    def test_unknown_tools_can_be_content(self, serving, weather):
        served = serving(unknown_tools="content")
        text = CALL.replace("get_weather", "get_time")
        served.engine.say(text)
        assert served.both(tools=[weather]).content == text

    def test_repair_can_be_switched_off(self, serving, weather):
        broken = CALL.removesuffix("\n</tool_call>")
        for repair, repairs in ((True, ["missing_closer"]), (False, [])):
            served = serving(repair=repair)
            served.engine.say(broken)
            assert served.both(tools=[weather]).extension["calls"][0]["repairs"] == repairs

    def test_without_a_parser_everything_is_content(self, serving):
        served = serving(parser=None)
        served.engine.say(f"<think>\nHm\n</think>\n\n{CALL}", each=4)
        reply = served.both()
        assert reply.content == f"<think>\nHm\n</think>\n\n{CALL}"
        assert (reply.reasoning, reply.calls, reply.finish) == (None, [], "stop")
        assert served.engine.constraints == [None, None]

    def test_without_a_parser_tools_need_tool_choice_none(self, serving, weather):
        served = serving(parser=None)
        served.engine.say("Hi")
        error = served.error(400, tools=[weather])
        assert error["param"] == "tools"
        assert "--enable-auto-tool-choice --tool-call-parser" in error["message"]
        assert served.both(tools=[weather], tool_choice="none").content == "Hi"
