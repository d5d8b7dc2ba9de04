"""The prompt that asks for calls, and the grammar of answers and calls."""

from __future__ import annotations

import json

import pytest

from toolglot import Call, Named, Request, Tool, load_parser
from toolglot_generic import plugin

WEATHER = Tool(
    "get_weather",
    "The weather in a city.",
    {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
        "additionalProperties": False,
    },
)
NOW = Tool("now")
CALL = '{"name": "get_weather", "arguments": {"city": "Oslo"}}'
USER = {"role": "user", "content": "Weather in Oslo?"}


def adjusted(*messages, parser=plugin, tools=(WEATHER, NOW), **fields):
    return parser.adjust_request(Request(messages=messages, tools=tools, **fields))


def test_the_tools_are_told_before_what_the_user_says_and_not_to_the_template():
    system = {"role": "system", "content": "Be brief."}
    request = adjusted(system, {"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}, USER)
    *before, user = request.messages

    assert before == [system, {"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]
    assert user["content"].endswith("\n\nWeather in Oslo?")
    for tool in (WEATHER, NOW):
        assert json.dumps(tool.to_openai()["function"]) in user["content"]
    assert request.tools == (WEATHER, NOW)
    assert request.templated_tools == ()


def test_where_no_user_says_anything_the_tools_are_the_users_message():
    _, user = adjusted({"role": "system", "content": "Be brief."}).messages

    assert user["role"] == "user"
    assert user["content"].startswith("You can call functions.")


@pytest.mark.parametrize(
    ("choice", "told"),
    [("auto", "answer in plain text"), ("required", "Now call a function"), (Named("now"), "Now call now;")],
)
def test_the_choice_is_told(choice, told):
    assert told in adjusted(USER, tool_choice=choice).messages[0]["content"]


@pytest.mark.parametrize("fields", [{"tools": ()}, {"tool_choice": "none"}])
def test_where_no_call_may_be_nothing_is_told(fields):
    assert adjusted(USER, **fields).messages == (USER,)


def called(*names, content=None, arguments=None):
    calls = [
        {
            "id": f"id{number}",
            "type": "function",
            "function": {"name": name, "arguments": arguments or {"city": "Oslo"}},
        }
        for number, name in enumerate(names)
    ]
    return {"role": "assistant", "content": content, "tool_calls": calls}


def test_earlier_calls_and_results_are_ordinary_messages():
    history = [
        USER,
        called("get_weather", "now", content="One moment."),
        {"role": "tool", "tool_call_id": "id0", "content": "3 °C"},
        {"role": "tool", "tool_call_id": "id1", "content": "12:00"},
        {"role": "user", "content": "And tomorrow?"},
    ]
    user, assistant, results = adjusted(*history).messages

    assert user == USER
    assert assistant == {"role": "assistant", "content": f"One moment.\n{CALL}\n{CALL.replace('get_weather', 'now')}"}
    assert results["role"] == "user"
    assert results["content"].startswith("Result of get_weather:\n3 °C\n\nResult of now:\n12:00\n\nYou can call")
    assert results["content"].endswith("\n\nAnd tomorrow?")


def test_earlier_calls_read_back_as_the_same_calls():
    text = adjusted(USER, called("get_weather", "now")).messages[-1]["content"]
    message = load_parser("generic").parse(text, tools=[WEATHER, NOW])

    assert [(call.name, json.loads(call.arguments)) for call in message.tool_calls] == [
        ("get_weather", {"city": "Oslo"}),
        ("now", {"city": "Oslo"}),
    ]


def test_a_call_that_the_model_broke_stays_as_it_was():
    assert adjusted(USER, called("now", arguments="{oops")).messages[-1]["content"] == "now: {oops"


@pytest.fixture(scope="module")
def admits():
    """Whether a text is a whole reply under the grammar of a request."""
    pytest.importorskip("xgrammar")
    pytest.importorskip("torch")
    from toolglot.testing.sampling import Sampler, vocabulary

    sampler = Sampler(vocabulary((CALL, "Hello, it is 3 °C.\n\n```json"), ()), ())

    def admits(text, **fields):
        return sampler.admits(plugin.get_structural_tag(Request(**{"tools": (WEATHER, NOW), **fields})), text)

    return admits


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Hello.",
        ' Hello {you}, [1] ```x``` {"name": 1}',
        "東京",
        CALL,
        f"{CALL}\n",
        f"{CALL}\n{CALL.replace('Oslo', 'Bergen')}",
        f"<think>\nHm.\n</think>\n\n{CALL}",
        "<think>\nHm.\n</think>\n\nHello.",
    ],
)
def test_a_reply_is_an_answer_or_calls(admits, text):
    assert admits(text)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[1]",
        "```json\n",
        "<tool_call>",
        f"Sure: {CALL}",
        f"{CALL} Done.",
        CALL.replace('"Oslo"', "3"),
        CALL.replace("get_weather", "rain"),
        CALL.replace('"city": "Oslo"', ""),
        '{"name": "now", "arguments": {"a": 1}}',
    ],
)
def test_it_is_neither_both_nor_a_call_that_does_not_validate(admits, text):
    assert not admits(text)


def test_a_tool_that_is_not_strict_takes_any_object(admits):
    from msgspec.structs import replace

    assert admits(CALL.replace('"Oslo"', "3"), tools=(replace(WEATHER, strict=False),))


def test_one_call_where_calls_are_not_parallel(admits):
    assert admits(CALL, parallel_tool_calls=False)
    assert not admits(f"{CALL}\n{CALL}", parallel_tool_calls=False)


def test_without_tools_nothing_is_constrained():
    assert plugin.get_structural_tag(Request()) is None
    assert plugin.get_structural_tag(Request(tools=(NOW,), tool_choice="none")) is None


@pytest.mark.model
async def test_a_small_model_answers_or_calls_what_it_was_offered():
    for module in ("torch", "transformers", "xgrammar", "platformdirs", "jinja2"):  # which a plugin alone lacks
        pytest.importorskip(module)
    from toolglot.checkpoints import load_tokenizer, resolve
    from toolglot.engine.local import LocalEngine
    from toolglot.engine.protocol import SamplingParams
    from toolglot.prompts import PromptRenderer
    from toolglot.server import ServerConfig
    from toolglot.server.generation import Generator

    checkpoint = resolve(None, quiet=True)
    tokenizer = load_tokenizer(checkpoint.path)
    engine = LocalEngine(checkpoint.path, name=checkpoint.name, tokenizer=tokenizer, threads=1)
    parser = load_parser("generic", tokenizer=tokenizer)
    generator = Generator(
        ServerConfig(), engine=engine, tokenizer=tokenizer, prompts=PromptRenderer(tokenizer), parser=parser
    )
    await engine.start()
    try:
        for question, calls in (("Get the weather in Oslo.", 1), ("What is the capital of Norway?", 0)):
            prepared = await generator.prepare(
                Request(messages=({"role": "user", "content": question},), tools=(WEATHER,))
            )
            generation = await generator.begin(prepared, SamplingParams(max_tokens=80, temperature=0))
            message = await generation.read()
            assert [call.outcome for call in message.tool_calls] == ["ok"] * calls
            assert (message.content is None) is bool(calls)
    finally:
        generator.close()
        await engine.stop()


def test_calls_are_rendered_a_line_each():
    calls = [Call("", "get_weather", '{"city": "Oslo"}')] * 2

    assert plugin.render(calls) == f"{CALL}\n{CALL}"
