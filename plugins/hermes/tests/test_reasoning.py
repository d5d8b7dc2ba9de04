"""The reasoning channel: opened by the model or by the prompt, ended by its fence or by a call."""

from __future__ import annotations

import pytest

from toolglot import load_parser

CALL = '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'


def outline(message):
    return message.reasoning, message.content, [call.name for call in message.tool_calls]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("<think>\nHm.\n</think>\n\nHello.", ("Hm.", "Hello.", [])),
        (f"<think>\nHm.\n</think>\n\n{CALL}", ("Hm.", None, ["f"])),
        ("<think>\n\n</think>\n\nHello.", (None, "Hello.", [])),
        ("\n<think>Hm.</think>Hello.", ("Hm.", "Hello.", [])),
        ("<think>still at it", ("still at it", None, [])),
        ("<think>a </thin> b</think>c", ("a </thin> b", "c", [])),
        ("<think>a <think> b</think>c", ("a <think> b", "c", [])),
    ],
)
def test_the_model_opens_it(read, text, want):
    assert outline(read(text)) == want


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("Hm.\n</think>\n\nHello.", ("Hm.", "Hello.", [])),
        (f"\nHm.\n</think>\n\n{CALL}", ("Hm.", None, ["f"])),
        ("</think>\n\nHello.", (None, "Hello.", [])),
        ("still at it", ("still at it", None, [])),
    ],
)
def test_the_prompt_opens_it(read, text, want):
    assert outline(read(text, reasoning_open=True)) == want


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("Hello <think>a</think> b", (None, "Hello <think>a</think> b", [])),
        ("a</think>b", (None, "a</think>b", [])),
        (f"{CALL}<think>a</think>", (None, "<think>a</think>", ["f"])),
        ("<think>a</think>b<think>c</think>", ("a", "b<think>c</think>", [])),
    ],
)
def test_elsewhere_a_fence_is_text(read, text, want):
    assert outline(read(text)) == want


@pytest.mark.parametrize("opened", [False, True])
def test_a_call_ends_it(read, opened):
    text = f"I need it.\n{CALL}\nDone."
    message = read(text if opened else f"<think>{text}", reasoning_open=opened)

    assert outline(message) == ("I need it.", "\nDone.", ["f"])


def test_an_opener_that_begins_no_call_does_not_end_it(read):
    assert outline(read("<think>I use <tool_call> tags.</think>Hi")) == ("I use <tool_call> tags.", "Hi", [])


@pytest.mark.parametrize("context", [{"tool_choice": "none"}, {"tools": []}])
def test_where_no_call_may_be_none_ends_it(read, context):
    assert outline(read(f"<think>Like {CALL}.</think>Hi", **context)) == (f"Like {CALL}.", "Hi", [])


def test_it_can_be_left_in_the_content(read):
    parser = load_parser("hermes", reasoning="none")

    assert outline(read(f"<think>Hm.</think>{CALL}", parser=parser)) == (None, "<think>Hm.</think>", ["f"])


def test_what_a_prompt_says_of_it(parser):
    assert parser.prompt_reasoning("<|im_start|>assistant\n<think>\n") == "open"
    assert parser.prompt_reasoning("<|im_start|>assistant\n<think>\n\n</think>\n\n") == "closed"
    assert parser.prompt_reasoning("<think>a</think><|im_start|>assistant\n") == "absent"
    assert parser.reasons_in("{{ '<think>' }} ... {{ '</think>' }}")
    assert not parser.reasons_in("{{ message.content }}")
