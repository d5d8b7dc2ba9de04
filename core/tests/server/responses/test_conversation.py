"""Items become the messages that chat templates take."""

from __future__ import annotations

from toolglot.server.responses.conversation import beginnings, chat_messages, without_oldest
from toolglot.server.responses.items import ItemCall, ItemCallOutput, ItemMessage, ItemReasoning, Part, sealed


def user(text="Hi"):
    return ItemMessage("user", text)


def said(text):
    return ItemMessage("assistant", [Part("output_text", text)])


def thought(text):
    return ItemReasoning([], [Part("reasoning_text", text)])


def call(name):
    return ItemCall(f"id-{name}", name, "{}")


def result(name):
    return ItemCallOutput(f"id-{name}", f"result of {name}")


def called(*names):
    return [{"id": f"id-{name}", "function": {"name": name, "arguments": "{}"}} for name in names]


def test_what_the_model_wrote_in_one_turn_is_one_message():
    items = [user(), thought("Hm."), said("First."), call("f"), said(" Then."), call("g"), result("f"), result("g")]
    _, turn, first, second = chat_messages(None, items)
    assert turn == {
        "role": "assistant", "content": "First. Then.", "reasoning": "Hm.", "tool_calls": called("f", "g"),
    }  # fmt: skip
    assert first == {"role": "tool", "tool_call_id": "id-f", "content": "result of f"}
    assert second["tool_call_id"] == "id-g"


def test_two_turns_stay_two():
    messages = chat_messages(None, [user(), call("f"), result("f"), thought("Hm."), call("g"), result("g")])
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "assistant", "tool"]
    assert messages[3] == {"role": "assistant", "content": None, "reasoning": "Hm.", "tool_calls": called("g")}


def test_two_messages_of_the_assistant_stay_two():
    messages = chat_messages(None, [user(), said("a"), said("b")])
    assert [message["content"] for message in messages[1:]] == ["a", "b"]


def test_instructions_come_first():
    assert chat_messages("Be kind.", [user()])[0] == {"role": "system", "content": "Be kind."}
    parts = ItemMessage("developer", [Part("input_text", "Be"), Part("input_text", "brief.")])
    assert chat_messages("Be kind.", [parts, user()])[0] == {"role": "system", "content": "Be kind.\n\nBe\nbrief."}
    assert len(chat_messages(None, [parts, ItemMessage("system", "x")])) == 2


def test_reasoning_is_read_from_the_best_that_is_there():
    summary = [Part("summary_text", "short")]
    assert ItemReasoning(summary).text == "short"
    assert ItemReasoning(summary, None, sealed("Längere 🌦")).text == "Längere 🌦"
    assert ItemReasoning(summary, [Part("reasoning_text", "all of it")], "?").text == "all of it"


class TestTooLong:
    def test_any_message_but_a_result_may_come_first(self):
        items = [user("a"), call("f"), result("f"), said("b"), user("c")]
        messages = chat_messages("Be kind.", items)
        assert [messages[at]["role"] for at in beginnings(messages)] == ["assistant", "assistant", "user"]
        assert [message["content"] for message in without_oldest(messages, 5)] == ["Be kind.", "c"]

    def test_the_last_result_keeps_its_call(self):
        messages = chat_messages(None, [user("a"), user("b"), call("f"), call("g"), result("f"), result("g")])
        *_, last = (without_oldest(messages, at) for at in beginnings(messages))
        assert [message["role"] for message in last] == ["assistant", "tool", "tool"]

    def test_a_result_goes_with_its_call(self):
        messages = chat_messages(None, [user("a"), call("f"), user("b"), result("f"), user("c")])
        assert [message["content"] for message in without_oldest(messages, 2)] == ["b", "c"]

    def test_one_message_has_no_other_beginning(self):
        assert beginnings(chat_messages("Be kind.", [user()])) == []
        assert beginnings(chat_messages(None, [call("f"), result("f")])) == []
