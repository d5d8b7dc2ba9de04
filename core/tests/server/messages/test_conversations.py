"""Conversations: content blocks become the messages that chat templates take, in their order."""

from __future__ import annotations

import msgspec
import pytest

from toolglot.server.messages.conversation import conversation
from toolglot.server.messages.protocol import MessageParam

HI = {"role": "user", "content": "Hi"}


def use(call_id="toolu_1", arguments=..., name="get_weather"):
    return {
        "type": "tool_use",
        "id": call_id,
        "name": name,
        "input": {"city": "Oslo"} if arguments is ... else arguments,
    }


def result(content=..., call_id="toolu_1", **fields):
    block = {"type": "tool_result", "tool_use_id": call_id, **fields}
    return block if content is ... else {**block, "content": content}


def text(words):
    return {"type": "text", "text": words}


def turns(api, *messages, **fields):
    """The turns that the model reads."""
    prompt = api.prompt(messages=list(messages), **fields)
    return [turn.removesuffix("<|im_end|>\n") for turn in prompt.split("<|im_start|>")[1:-1]]


@pytest.mark.parametrize("system", ["Be kind.", [text("Be kind."), {**text("Be brief."), "cache_control": {}}]])
def test_the_system_prompt_comes_first(api, system):
    expected = "Be kind." if isinstance(system, str) else "Be kind.\nBe brief."
    assert turns(api, HI, system=system) == [f"system\n{expected}", "user\nHi"]


@pytest.mark.parametrize("system", [None, "", []])
def test_there_need_not_be_one(api, system):
    assert turns(api, HI, system=system) == ["user\nHi"]


def test_a_system_message_stays_where_it_is(api):
    assert turns(api, HI, {"role": "system", "content": "Be kind."}, HI) == ["user\nHi", "system\nBe kind.", "user\nHi"]


def test_messages_of_one_role_are_one_turn(api):
    assistant = [{"role": "assistant", "content": words} for words in ("A", "B")]
    assert turns(api, HI, HI, *assistant, HI) == ["user\nHi\nHi", "assistant\nA\nB", "user\nHi"]


class TestResults:
    @pytest.mark.parametrize("content", ["3C", [text("3C")]])
    def test_the_text_of_a_result_is_exactly_that(self, api, content):
        """sgl-project/sglang#18630"""
        history = [HI, {"role": "assistant", "content": [use()]}, {"role": "user", "content": [result(content)]}]
        call = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
        assert turns(api, *history) == ["user\nHi", f"assistant\n{call}", "tool\n3C"]

    def test_several_results_are_messages_of_their_own_and_text_keeps_its_place(self, api):
        calls = {"role": "assistant", "content": [use("a"), use("b")]}
        blocks = [text("First:"), result("1", "a"), result([text("2"), text("3")], "b"), text("Go on"), text("now.")]
        found = turns(api, HI, calls, {"role": "user", "content": blocks})
        assert found[2:] == ["user\nFirst:", "tool\n1", "tool\n2\n3", "user\nGo on\nnow."]

    @pytest.mark.parametrize("content", [..., "", [], None])
    def test_a_result_may_be_empty(self, api, content):
        assert turns(api, HI, {"role": "user", "content": [result(content)]})[-1] == "tool\n"

    @pytest.mark.parametrize(
        ("content", "shown"),
        [("no such city", "Error: no such city"), ("Error 404", "Error 404"), ("", "Error")],
    )
    def test_the_model_learns_that_a_call_failed(self, api, content, shown):
        found = turns(api, HI, {"role": "user", "content": [result(content, is_error=True)]})
        assert found[-1] == f"tool\n{shown}"

    def test_a_result_that_is_no_error_is_as_it_is(self, api):
        found = turns(api, HI, {"role": "user", "content": [result("fine", is_error=False)]})
        assert found[-1] == "tool\nfine"


class TestEarlierCalls:
    @pytest.mark.parametrize(
        ("arguments", "shown"),
        [
            ({}, "{}"),
            (None, "{}"),
            ('{"city": "Oslo"}', '{"city": "Oslo"}'),
            ('{"city": Oslo', '"{\\"city\\": Oslo"'),
            ([1, 2], '"[1,2]"'),
        ],
    )
    def test_arguments_may_be_malformed(self, api, arguments, shown):
        message = {"role": "assistant", "content": [use(arguments=arguments)]}
        found = turns(api, HI, message, {"role": "user", "content": [result("3C")]})
        assert f'"arguments": {shown}}}' in found[1]

    def test_text_and_calls_are_both_there(self, api):
        message = {"role": "assistant", "content": [text("Let me see."), use()]}
        (_, found, _) = turns(api, HI, message, {"role": "user", "content": [result("3C")]})
        assert found.startswith('assistant\nLet me see.<tool_call>\n{"name": "get_weather"')

    def test_thinking_comes_back_under_the_names_that_templates_read(self):
        blocks = [
            {"type": "thinking", "thinking": "Hm", "signature": "x"},
            {"type": "redacted_thinking", "data": "secret"},
            text("Yes."),
        ]
        messages = msgspec.convert([{"role": "assistant", "content": blocks}], list[MessageParam])
        (message,) = conversation(None, messages)
        assert message == {"role": "assistant", "content": "Yes.", "reasoning_content": "Hm", "reasoning": "Hm"}

    def test_the_reply_goes_back_as_it_is(self, api, tool):
        api.engine.say(
            '<think>\nHm\n</think>\n\nSure. <tool_call>\n{"name": "get_weather", "arguments": x}\n</tool_call>'
        )
        reply = api.post(tools=[tool]).json()
        calls = [block for block in reply["content"] if block["type"] == "tool_use"]
        answers = [result("3C", call["id"]) for call in calls]
        history = [HI, {"role": "assistant", "content": reply["content"]}, {"role": "user", "content": answers or "?"}]
        assert len(turns(api, *history)) == 3


class TestCounting:
    def test_the_count_is_that_of_the_prompt(self, api, tool):
        fields = {
            "system": "Be kind.",
            "tools": [tool],
            "messages": [HI, {"role": "assistant", "content": [use()]}, {"role": "user", "content": [result("3C")]}],
            "thinking": {"type": "disabled"},
        }
        counted = api.post("/v1/messages/count_tokens", max_tokens=..., **fields)
        assert counted.status_code == 200, counted.text
        api.prompt(**fields)
        assert counted.json() == {"input_tokens": len(api.engine.prompts[-1])}

    def test_more_than_the_model_can_take_is_counted_too(self, api):
        messages = [{"role": "user", "content": "x" * 5990}]
        counted = api.post("/v1/messages/count_tokens", max_tokens=..., messages=messages)
        assert counted.json()["input_tokens"] > 6000

    def test_a_conversation_may_end_with_the_assistant(self, api):
        messages = [HI, {"role": "assistant", "content": "Hello"}]
        assert api.post("/v1/messages/count_tokens", max_tokens=..., messages=messages).status_code == 200

    def test_nothing_is_generated(self, api):
        api.post("/v1/messages/count_tokens", max_tokens=...)
        assert api.engine.prompts == []


class TestTools:
    def test_the_model_sees_what_the_client_says_of_a_tool(self, api, tool):
        examples = [{"city": "Oslo"}]
        prompt = api.prompt(
            tools=[{**tool, "type": "custom", "cache_control": {"type": "ephemeral"}, "input_examples": examples}]
        )
        assert '"name": "get_weather", "description": "The weather", "parameters": {"type": "object"' in prompt
        assert '"examples": [{"city": "Oslo"}]' in prompt

    def test_an_empty_list_offers_none(self, api):
        assert "Tools:" not in api.prompt(tools=[])
