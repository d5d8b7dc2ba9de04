"""Messages with headers, as gpt-oss writes them, with its own tokens."""

from __future__ import annotations

import re

import pytest

from toolglot import Call, load_parser

IDS = {
    "<|return|>": 200002,
    "<|constrain|>": 200003,
    "<|channel|>": 200005,
    "<|start|>": 200006,
    "<|end|>": 200007,
    "<|message|>": 200008,
    "<|call|>": 200012,
}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "strict": True,
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        },
    },
    {"type": "function", "function": {"name": "now", "strict": True}},
]
OSLO = '{"city": "Oslo"}'
CALL = f"<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{OSLO}<|call|>"
THOUGHT = "<|channel|>analysis<|message|>Weather.<|end|>"
PARSER = load_parser("openai", tokenizer=IDS)


def read(text, *, finish_reason="stop", **context):
    """The message, read token by token and checked against the whole, and against the markers as text."""
    stream = PARSER.stream(tools=TOOLS, **context)
    for piece in re.findall(r"<\|\w+\|>|.", text, re.DOTALL):
        number = IDS.get(piece)
        stream.feed(piece, (number or 1,), () if number is None else ((0, number),))
    stream.finish(finish_reason)
    spelled = load_parser("openai").parse(text, tools=TOOLS, finish_reason=finish_reason, **context)
    assert summary(stream.message) == summary(spelled)
    return stream.message


def summary(message):
    calls = [(call.name, call.arguments, call.outcome, call.repairs) for call in message.tool_calls]
    return message.reasoning, message.content, calls


@pytest.mark.parametrize(
    "header",
    [
        "<|channel|>commentary to=functions.get_weather <|constrain|>json",
        "<|channel|>commentary to=functions.get_weather<|constrain|>json",
        "<|channel|>commentary to=functions.get_weather json",
        "<|channel|>commentary to=functions.get_weather",
        "<|channel|>analysis to=functions.get_weather code",
        " to=functions.get_weather<|channel|>commentary <|constrain|>json",
        " to=functions.get_weather<|channel|>commentary json",
        " to=functions.get_weather<|channel|>analysis",
    ],
)
@pytest.mark.parametrize("before", ["", THOUGHT + "<|start|>assistant"])
@pytest.mark.parametrize("end", ["<|call|>", "<|end|>"])
def test_a_recipient_makes_a_call(header, before, end):
    message = read(f"{before}{header}<|message|>{OSLO}{end}")

    assert summary(message) == ("Weather." if before else None, None, [("get_weather", OSLO, "ok", ())])


def test_a_stop_token_that_was_not_delivered_is_a_closer_that_is_missing():
    (call,) = read(CALL.removesuffix("<|call|>")).tool_calls

    assert (call.outcome, call.repairs) == ("ok", ("missing_closer",))


@pytest.mark.parametrize("end", ["", "<|return|>", "<|end|>"])
@pytest.mark.parametrize("kind", ["final", "commentary", "final <|constrain|>json"])
def test_other_messages_are_the_answer(kind, end):
    text = f"{THOUGHT}<|start|>assistant<|channel|>{kind}<|message|>It is to=functions.get_weather.{end}"

    assert summary(read(text)) == ("Weather.", "It is to=functions.get_weather.", [])


def test_a_turn_of_many_messages():
    preamble = "<|channel|>commentary<|message|>I look.<|end|>"
    text = "<|start|>assistant".join([THOUGHT, preamble, THOUGHT, CALL, CALL, THOUGHT])
    message = read(text)

    assert (message.reasoning, message.content) == ("Weather.Weather.Weather.", "I look.")
    assert [call.outcome for call in message.tool_calls] == ["ok", "ok"]


@pytest.mark.parametrize("end", ["<|start|>assistant", ""])
def test_the_end_of_reasoning_may_be_missing(end):
    assert summary(read(THOUGHT.removesuffix("<|end|>") + end + CALL)) == (
        "Weather.",
        None,
        [("get_weather", OSLO, "ok", ())],
    )


@pytest.mark.parametrize("finish_reason", ["stop", "length"])
@pytest.mark.parametrize("header", ["<|start|>", "<|start|>assistant", "<|start|>assistant<|channel|>comm"])
def test_a_header_that_is_cut_says_nothing(header, finish_reason):
    assert summary(read(THOUGHT + header, finish_reason=finish_reason)) == ("Weather.", None, [])


def test_a_broken_call_ends_with_its_message():
    broken = CALL.replace(OSLO, '{"city": "Oslo\n')
    message = read(f"{broken}<|start|>assistant<|channel|>final<|message|>Well.")

    assert (message.content, [call.outcome for call in message.tool_calls]) == ("Well.", ["malformed"])


def test_markers_that_are_only_spelled_are_text():
    text = "<|channel|>final<|message|>The token <|call|> ends a call."
    marks = [(match.start(), IDS[match[0]]) for match in re.finditer(r"<\|(?:channel|message)\|>", text)]
    stream = PARSER.stream(tools=TOOLS)
    stream.feed(text, (1, *(number for _, number in marks)), marks)
    stream.finish()

    assert stream.message.content == "The token <|call|> ends a call."


ANSWER = "<|channel|>final<|message|>Hi.<|return|>"


@pytest.mark.parametrize(
    ("choice", "texts"),
    [("auto", (CALL, ANSWER)), ("required", (CALL,)), ("none", (ANSWER,))],
    ids=lambda one: str(one)[:8],
)
def test_a_grammar_admits_messages_behind_the_prompt(choice, texts):
    pytest.importorskip("xgrammar")
    pytest.importorskip("torch")
    from toolglot.testing.sampling import Sampler, vocabulary

    tokenizer = vocabulary((CALL, THOUGHT), IDS)
    sampler, tag = Sampler(tokenizer, IDS), load_parser("openai", tokenizer=tokenizer).structural_tag(TOOLS, choice)

    for text in texts:
        assert sampler.admits(tag, text)
        assert sampler.admits(tag, f"{THOUGHT}<|start|>assistant{text}")
        assert not sampler.admits(tag, THOUGHT + text)
    assert sampler.admits(tag, CALL) is (choice != "none")
    assert not sampler.admits(tag, CALL.replace('"Oslo"', "1"))
    assert not sampler.admits(tag, f"{CALL}<|start|>assistant{CALL}")


def test_calls_are_rendered_as_messages():
    calls = [Call("", "get_weather", OSLO), Call("", "now", "{}")]

    assert PARSER.render(calls) == (
        f"{CALL}<|start|>assistant<|channel|>commentary to=functions.now <|constrain|>json<|message|>{{}}<|call|>"
    )


def test_a_prompt_may_open_the_reasoning():
    assert PARSER.prompt_reasoning("<|end|><|start|>assistant") == "absent"
    assert PARSER.prompt_reasoning("<|end|><|start|>assistant<|channel|>analysis<|message|>") == "open"
    assert summary(read("Weather.<|end|><|start|>assistant" + CALL, reasoning_open=True))[0] == "Weather."
