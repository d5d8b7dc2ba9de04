from __future__ import annotations

from typing import Any

import pytest

from toolglot.containers import MAX_CONTAINERS
from toolglot.errors import RequestError
from toolglot.prompts import count_tool_calls, read_messages


def call(arguments: Any = "{}", **more: Any) -> dict[str, Any]:
    return {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": arguments}, **more}


def assistant(*calls: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(calls), **more}


def read(message: dict[str, Any]) -> dict[str, Any]:
    return read_messages([message])[0]


def test_plain_messages_pass_as_they_are() -> None:
    messages = ({"role": "system", "content": "S"}, {"role": "user", "content": "Hé", "name": "Ann"})

    assert read_messages(messages) == messages


def test_a_developer_is_a_system() -> None:
    assert read({"role": "developer", "content": "D"}) == {"role": "system", "content": "D"}


def test_text_parts_are_joined_by_newlines() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]

    assert read({"role": "user", "content": parts})["content"] == "a\nb"


def test_what_clients_echo_beside_the_known_fields_is_left_out() -> None:
    echoed = {
        "role": "assistant",
        "content": "x",
        "refusal": None,
        "audio": None,
        "annotations": [],
        "tool_calls": None,
    }

    assert read(echoed) == {"role": "assistant", "content": "x"}


@pytest.mark.parametrize(
    "said",
    [
        {"content": None, "refusal": "No."},
        {"content": [{"type": "refusal", "refusal": "No."}]},
    ],
)
def test_what_an_assistant_refused_with_is_its_text(said: dict[str, Any]) -> None:
    assert read({"role": "assistant", **said}) == {"role": "assistant", "content": "No."}


def test_others_do_not_refuse() -> None:
    with pytest.raises(RequestError, match="'refusal' is not supported"):
        read({"role": "user", "content": [{"type": "refusal", "refusal": "No."}]})


@pytest.mark.parametrize("arguments", ['{"a": {"b": [1, null]}}', {"a": {"b": [1, None]}}])
def test_arguments_become_an_object(arguments: Any) -> None:
    assert read(assistant(call(arguments)))["tool_calls"] == [call({"a": {"b": [1, None]}})]


def test_arguments_of_all_calls_together_may_hold_so_many_objects_and_lists() -> None:
    half = '{"a": [' + "{}," * (MAX_CONTAINERS // 2) + "0]}"
    assert isinstance(read(assistant(call(half)))["tool_calls"][0]["function"]["arguments"], dict)

    with pytest.raises(RequestError, match="objects and lists") as error:
        read_messages([assistant(call(half)), assistant(call(half))])
    assert error.value.param == "messages"


@pytest.mark.parametrize("arguments", ["", " \n", None])
def test_no_arguments_are_an_empty_object(arguments: Any) -> None:
    assert read(assistant(call(arguments)))["tool_calls"][0]["function"]["arguments"] == {}


@pytest.mark.parametrize(
    "arguments", ['{"city": "Par', "[1, 2]", '"text"', "null", '{"a": NaN}', "[" * 100_000, '{"a": "\ud800"}']
)
def test_arguments_that_are_no_object_stay_text(arguments: str) -> None:
    """A malformed call that the model made comes back in the history; it must not end the conversation."""
    assert read(assistant(call(arguments)))["tool_calls"][0]["function"]["arguments"] == arguments


def test_content_is_none_only_beside_calls() -> None:
    assert read(assistant(call()))["content"] is None
    assert read({"role": "assistant", "content": None}) == {"role": "assistant", "content": ""}
    assert read({"role": "assistant"}) == {"role": "assistant", "content": ""}


@pytest.mark.parametrize("key", ["reasoning", "reasoning_content"])
def test_reasoning_has_both_names(key: str) -> None:
    message = read({"role": "assistant", "content": "x", key: "why"})

    assert (message["reasoning"], message["reasoning_content"]) == ("why", "why")


def test_a_tool_message_keeps_its_id_and_name() -> None:
    message = {"role": "tool", "content": "22", "tool_call_id": "call_1", "name": "f"}

    assert read(message) == message


def test_earlier_calls_are_counted() -> None:
    messages = read_messages([assistant(call(), call()), {"role": "user", "content": "u"}, assistant(call())])

    assert count_tool_calls(messages) == 3


@pytest.mark.parametrize(
    ("message", "param"),
    [
        ("hello", "messages[0]"),
        ({}, "messages[0].role"),
        ({"role": "robot", "content": "x"}, "messages[0].role"),
        ({"role": ["user"], "content": "x"}, "messages[0].role"),
        ({"role": "function", "name": "f", "content": "x"}, "messages[0].role"),
        ({"role": "user"}, "messages[0].content"),
        ({"role": "user", "content": None}, "messages[0].content"),
        ({"role": "system", "content": 7}, "messages[0].content"),
        ({"role": "user", "content": {"type": "text", "text": "x"}}, "messages[0].content"),
        ({"role": "user", "content": ["x"]}, "messages[0].content[0]"),
        ({"role": "user", "content": [{"type": "image_url", "image_url": {}}]}, "messages[0].content[0].type"),
        ({"role": "user", "content": [{"text": "x"}]}, "messages[0].content[0].type"),
        ({"role": "user", "content": [{"type": "text", "text": None}]}, "messages[0].content[0].text"),
        ({"role": "user", "content": "x", "name": 3}, "messages[0].name"),
        ({"role": "tool", "content": "x"}, "messages[0].tool_call_id"),
        ({"role": "tool", "content": "x", "tool_call_id": 1}, "messages[0].tool_call_id"),
        ({"role": "tool", "content": None, "tool_call_id": "1"}, "messages[0].content"),
        ({"role": "assistant", "content": 1}, "messages[0].content"),
        ({"role": "assistant", "content": "", "reasoning_content": []}, "messages[0].reasoning_content"),
        ({"role": "assistant", "content": "", "reasoning": 1}, "messages[0].reasoning"),
        ({"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}}, "messages[0].function_call"),
        ({"role": "assistant", "tool_calls": {}}, "messages[0].tool_calls"),
        (assistant("f"), "messages[0].tool_calls[0]"),
        (assistant({}), "messages[0].tool_calls[0].function"),
        (assistant(call(id=1)), "messages[0].tool_calls[0].id"),
        (assistant(call(), call(type="custom")), "messages[0].tool_calls[1].type"),
        (assistant(call(function={"arguments": "{}"})), "messages[0].tool_calls[0].function.name"),
        (assistant(call(function={"name": ""})), "messages[0].tool_calls[0].function.name"),
        (assistant(call([1])), "messages[0].tool_calls[0].function.arguments"),
    ],
)
def test_a_wrong_message_is_refused_with_the_path_to_the_field(message: Any, param: str) -> None:
    with pytest.raises(RequestError) as error:
        read_messages([message])

    assert error.value.param == param


def test_the_path_counts_messages() -> None:
    with pytest.raises(RequestError) as error:
        read_messages([{"role": "user", "content": "a"}, {"role": "user"}])

    assert error.value.param == "messages[1].content"


@pytest.mark.parametrize("messages", [[], (), {}, None, "hello"])
def test_a_conversation_is_a_list_with_something_in_it(messages: Any) -> None:
    with pytest.raises(RequestError) as error:
        read_messages(messages)

    assert error.value.param == "messages"


def test_the_message_says_what_would_work() -> None:
    with pytest.raises(RequestError, match=r'image_url.*use "text"'):
        read({"role": "user", "content": [{"type": "image_url"}]})
    with pytest.raises(RequestError, match='use "tool"'):
        read({"role": "function", "name": "f", "content": "x"})
