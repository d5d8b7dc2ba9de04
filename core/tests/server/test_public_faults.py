"""Faults of other servers that were reported in public, and do not happen here. Each test names the report."""

from __future__ import annotations

import json

import pytest

CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
OSLO = ("get_weather", '{"city": "Oslo"}')


def tool_call_entries(chunks):
    return [call for chunk in chunks for choice in chunk["choices"] for call in choice["delta"].get("tool_calls", [])]


def test_arguments_are_text_and_tool_calls_a_list(served, weather):
    """huggingface/text-generation-inference#2954"""
    served.engine.say(CALL)
    calls = served.post(tools=[weather]).json()["choices"][0]["message"]["tool_calls"]
    assert isinstance(calls, list)
    assert calls[0]["function"]["arguments"] == '{"city": "Oslo"}'


def test_reasoning_that_the_prompt_closed_is_not_assumed(served, weather):
    """vllm-project/vllm#53284"""
    served.engine.say("The answer is 4.")
    reply = served.both(tools=[weather], chat_template_kwargs={"enable_thinking": False})
    assert (reply.content, reply.reasoning, reply.calls) == ("The answer is 4.", None, [])


def test_a_stream_finishes_once(served, weather):
    """RayBytes/ChatMock#114"""
    served.engine.say(f"On it. {CALL}")
    reasons = [choice["finish_reason"] for chunk in served.chunks(tools=[weather]) for choice in chunk["choices"]]
    assert [reason for reason in reasons if reason] == ["tool_calls"]


def test_a_chunk_never_holds_two_entries_for_one_call(served, weather):
    """openai/openai-python#3201"""
    served.engine.say(CALL, each=1000)
    for chunk in served.chunks(tools=[weather]):
        indexes = [call["index"] for call in tool_call_entries([chunk])]
        assert len(indexes) == len(set(indexes))


@pytest.mark.parametrize("spelled", [False, True], ids=["tokens", "text"])
def test_calls_of_a_turn_without_tools_pass_through_whole(served, spelled):
    """vllm-project/vllm#48940"""
    text = f"{CALL} <|tool_call_begin|>functions.get_weather:1<|tool_call_end|>"
    served.engine.say(text, spelled=spelled)
    call = {"id": "1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
    history = [
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "rain"},
    ]
    reply = served.both(messages=history)
    assert (reply.content, reply.calls, reply.finish) == (text, [], "stop")


def test_no_probabilities_are_lost_with_held_back_chunks(served, weather):
    """vllm-project/vllm#37737"""
    served.engine.say(f"One <moment>. {CALL}")
    told = [
        choice["logprobs"] for chunk in served.chunks(tools=[weather], logprobs=True) for choice in chunk["choices"]
    ]
    assert "".join(token["token"] for one in told if one for token in one["content"]) == "One <moment>."


def test_usage_is_not_lost_with_held_back_chunks(served, weather, tokenizer):
    """vllm-project/vllm#37737"""
    served.engine.say(CALL)
    usage = served.both(tools=[weather]).usage
    assert usage["completion_tokens"] == len(tokenizer.encode(CALL, add_special_tokens=False))


def test_a_name_comes_once_and_its_id_beside_it(served, weather):
    """ggml-org/llama.cpp#13800"""
    served.engine.say(CALL)
    first, *others = tool_call_entries(served.chunks(tools=[weather]))
    assert first["id"]
    assert first["function"] == {"name": "get_weather", "arguments": ""}
    assert all(call["function"].keys() == {"arguments"} for call in others)


def test_call_shaped_text_under_none_is_kept(served, weather):
    """vllm-project/vllm#55080"""
    text = f"An example:\n{CALL}\nThat is the format."
    served.engine.say(text, spelled=True)
    reply = served.both(tools=[weather], tool_choice="none")
    assert (reply.content, reply.calls) == (text, [])


def test_none_without_tools_is_accepted(served):
    """vllm-project/vllm#10000"""
    served.engine.say("Roses are red.")
    assert served.both(tool_choice="none", tools=None).content == "Roses are red."


def test_a_second_call_is_told_where_one_was_wanted_and_nothing_enforced_it(served, weather):
    """vllm-project/vllm#26233"""
    served.engine.say(f"{CALL}\n{CALL}")
    reply = served.both(tools=[weather], parallel_tool_calls=False)
    assert reply.calls == [OSLO, OSLO] or len(reply.calls) == 1
    assert (len(reply.calls) > 1) == (reply.extension.get("parallel_tool_calls") == "not_enforced")


def test_a_second_call_is_never_generated_under_a_grammar(served, weather):
    """vllm-project/vllm#26233"""
    served.engine.say(f"{CALL}\n{CALL}")
    response = served.post(tools=[weather], tool_choice="required", parallel_tool_calls=False)
    assert "the grammar refuses '<tool_call>'" in response.text


def test_reasoning_before_a_required_call_is_read(served, weather):
    """vllm-project/vllm#45413"""
    served.engine.say(f"<think>\n`x`\n</think>\n\n{CALL}")
    reply = served.both(tools=[weather], tool_choice="required")
    assert (reply.content, reply.reasoning, reply.calls) == (None, "`x`", [OSLO])


def test_the_role_is_in_the_first_chunk_only(served, weather):
    """langchain-ai/langchainjs#11470"""
    served.engine.say(CALL)
    roles = [choice["delta"].get("role") for chunk in served.chunks(tools=[weather]) for choice in chunk["choices"]]
    assert roles == ["assistant"] + [None] * (len(roles) - 1)


@pytest.mark.parametrize("choice", ["auto", "required"])
def test_strict_is_never_silently_left_out(served, weather, choice):
    """vllm-project/vllm#53745"""
    weather["function"]["strict"] = True
    served.engine.say(CALL.replace("city", "citty"))
    assert "the grammar refuses 't'" in served.post(tools=[weather], tool_choice=choice).text


def test_a_response_format_beside_tools_leaves_the_model_its_calls(served, weather):
    """MiaAI-Lab/GLM-5.3-Flash-EXL3-2x-DGX-Sparks#24"""
    served.engine.say(CALL)
    reply = served.both(tools=[weather], response_format={"type": "json_object"})
    assert (reply.content, reply.calls) == (None, [("get_weather", '{"city": "Oslo"}')])


def test_a_client_that_leaves_a_constrained_reply_frees_its_slot(served, weather):
    """sgl-project/sglang#39216"""
    served.engine.say(CALL.replace("Oslo", "Oslo" * 300), delay=0.005)
    body = {"model": "scripted", "messages": [{"role": "user", "content": "Hi"}], "stream": True}
    body |= {"tools": [weather], "tool_choice": "required"}
    with served.http.stream("POST", "/v1/chat/completions", json=body) as response:
        chunks = (line for line in response.iter_lines() if line)
        assert "tool_calls" not in next(chunks)
        assert "get_weather" in next(chunks)
    served.wait_idle(1.0)
    assert served.engine.yielded < 500
    served.engine.reset()
    served.engine.say(CALL)
    assert served.both(tools=[weather], tool_choice="required").calls == [OSLO]


def test_a_bad_grammar_costs_its_own_request_only(served, weather):
    """vllm-project/vllm#43920"""
    bad = json.loads(json.dumps(weather))
    bad["function"]["strict"] = True
    bad["function"]["parameters"]["properties"]["city"]["pattern"] = "(("
    served.engine.say(CALL)
    assert served.error(400, tools=[bad], tool_choice="required")["param"] == "tools[0].function.parameters"
    assert served.both(tools=[weather], tool_choice="required").calls == [OSLO]


def test_a_reply_may_end_after_a_required_call_and_a_newline(served, weather):
    """vllm-project/vllm#50399, ggml-org/llama.cpp#22073"""
    for ending in ("", "\n"):
        served.engine.reset()
        served.engine.say(CALL + ending)
        assert served.both(tools=[weather], tool_choice="required").calls == [OSLO]


@pytest.mark.parametrize(
    "call",
    [
        '{"name": "\\ud800", "arguments": {}}',
        '{"name": "get_weather", "arguments": {"city": "\\ud800"}}',
        '{"name": "get_weather", "arguments": "{\\"city\\": \\"\\ud800\\"}"}',
        '{"name": "get_weather", "arguments": "\\ud800"}',
    ],
)
def test_lone_surrogates_that_a_model_writes_cost_nothing(served, weather, call):
    """They are no text: what cannot be written in UTF-8 must not break the reply that holds it."""
    served.engine.say(f"<tool_call>\n{call}\n</tool_call>", each=1000)
    reply = served.both(tools=[weather])

    text = "".join((reply.content or "", *(part for call in reply.calls for part in call)))
    assert text.encode(), "it is text, and not lost"
