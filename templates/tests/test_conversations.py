"""Every template with every kind of conversation, and each turn of the assistant read back by the family's parser."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

import toolglot
import toolglot_templates
from toolglot.errors import RenderError
from toolglot.prompts import PromptRenderer, read_messages
from toolglot.requests import Request, Tool

PROPERTIES = {
    "city": {"type": "string", "description": 'The "city" <b>'},
    "days": {"type": "integer"},
    "ratio": {"type": "number"},
    "full": {"type": "boolean"},
    "tags": {"type": "array", "items": {"type": "string"}},
    "more": {"type": "object"},
    "limit": {"type": ["integer", "null"]},
}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Wéather <now>",
            "parameters": {"type": "object", "properties": PROPERTIES, "required": ["city"]},
        },
    },
    {"type": "function", "function": {"name": "get_time"}},
]
SYSTEM = {"role": "system", "content": "Say <little>."}
USER = {"role": "user", "content": 'What\'s the "wéather" <here>?\n\n東京'}
HARD = {
    "city": 'a "b" \'c\' <d> & {e}, [f]: g = é 東京 🚢\n\tC:\\new \\"h\\" \\u0041 i;',
    "days": -3,
    "ratio": 2.5,
    "full": True,
    "tags": ["x", 'y "z"', "", "null, true"],
    "more": {"k": {"l": [1, None, False, "m\\n"]}, "o p": "🚢", "q": []},
    "limit": None,
}
ONE, TWO = [("get_weather", {"city": "Paris", "days": 3})], [("get_weather", HARD), ("get_time", {})]
SAYS = "Let me <look> it up."


def turn(calls: list[tuple[str, Any]], content: str | None = None, **fields: Any) -> dict[str, Any]:
    """An assistant message with calls."""
    functions = [{"name": name, "arguments": arguments} for name, arguments in calls]
    tool_calls = [
        {"id": f"call_abcdefgh{number}", "type": "function", "function": function}
        for number, function in enumerate(functions)
    ]
    return {"role": "assistant", "content": content, "tool_calls": tool_calls, **fields}


def results(calls: list[Any]) -> list[dict[str, Any]]:
    texts = ['{"sky": "<cléar>"}', "12:00"]
    return [
        {"role": "tool", "content": texts[number], "tool_call_id": f"call_abcdefgh{number}"}
        for number in range(len(calls))
    ]


def spelled(calls: list[tuple[str, Any]], **style: Any) -> list[tuple[str, str]]:
    """The calls with arguments as JSON text."""
    return [(name, json.dumps(arguments, **style)) for name, arguments in calls]


@pytest.fixture
def written(family, render):
    """What a template writes for an assistant message, between the generation prompt and the end of the turn."""

    def text_of(message: dict[str, Any], before: tuple[dict[str, Any], ...] = (USER,)) -> str:
        prompt = render(*before, tools=TOOLS, prompt=True).removesuffix(family.skipped)
        history = render(*before, message, tools=TOOLS)
        end = family.ends(message)
        assert history.startswith(prompt)
        assert history.endswith(end)
        return history[len(prompt) : len(history) - len(end)]

    return text_of


load = cache(toolglot.load_parser)


def read(family, text: str) -> toolglot.Message:
    return load(family.parser).parse(text, tools=TOOLS)


def assert_calls(message: toolglot.Message, calls: list[tuple[str, Any]]) -> None:
    assert [(call.name, json.loads(call.arguments)) for call in message.tool_calls] == calls
    assert {(call.outcome, call.repairs) for call in message.tool_calls} <= {("ok", ())}


# What is sent is in the prompt


def test_a_user_is_asked_and_the_model_may_answer(family, render) -> None:
    prompt = render(USER, prompt=True)

    assert prompt.count(USER["content"]) == 1
    assert prompt.startswith(render(USER))
    assert "get_weather" not in prompt


@pytest.mark.parametrize("tools", [None, []])
def test_without_tools_nothing_is_said_of_calls(tools, family, render) -> None:
    prompt = render(SYSTEM, USER, tools=tools, prompt=True)

    assert prompt.count(SYSTEM["content"]) == 1
    assert render(SYSTEM, USER, tools=TOOLS, prompt=True) != prompt
    assert "<tool_call>" not in prompt


def test_tools_and_the_system_message_come_before_the_question(family, render) -> None:
    prompt = render(SYSTEM, USER, tools=TOOLS, prompt=True)
    before, after = prompt.split(USER["content"])

    for text in (SYSTEM["content"], "get_weather", "Wéather <now>", "city", "days", "tags", "get_time"):
        assert text in before
        assert text not in after


def test_a_conversation_holds_all_that_was_said_in_order(family, render) -> None:
    messages = [SYSTEM, USER, turn(TWO, SAYS), *results(TWO), {"role": "assistant", "content": "Fine."}, USER]
    prompt = render(*messages, tools=TOOLS, prompt=True)
    said = [SAYS] if family.content else []
    answers = [result["content"] for result in results(TWO)]
    places = [
        max(prompt.rfind(text), prompt.rfind(json.dumps(text, ensure_ascii=False)[1:-1]))
        for text in [*said, *answers, "Fine.", USER["content"]]
    ]

    assert -1 not in places
    assert places == sorted(places)


def test_what_was_written_is_not_written_otherwise_later(family, render, written) -> None:
    messages = [USER, turn(ONE, SAYS), *results(ONE), {"role": "assistant", "content": "Fine."}, USER, turn(TWO)]
    whole = render(*messages, tools=TOOLS)

    for place in (1, 3, 5):
        assert written(messages[place], tuple(messages[:place])) in whole


@pytest.mark.parametrize("content", [None, ""])
def test_a_turn_without_content_is_its_calls(content, family, written) -> None:
    texts = {written(turn(ONE, content)), written({**turn(ONE), "content": None})}

    assert len(texts) == 1
    assert "None" not in texts.pop()


def test_content_may_be_left_out(family, render) -> None:
    message = turn(ONE)
    del message["content"]

    assert render(USER, message, tools=TOOLS) == render(USER, turn(ONE), tools=TOOLS)


def test_an_answer_is_its_content(family, written) -> None:
    message = read(family, written({"role": "assistant", "content": "1 < 2\n\n`é`"}))

    assert message.content.strip() == "1 < 2\n\n`é`"
    assert not message.tool_calls


def test_an_unknown_role_is_refused(family, render) -> None:
    with pytest.raises(Exception, match="the role robot is not known"):
        render(USER, {"role": "robot", "content": ""})


def test_a_conversation_may_end_with_results_or_the_assistant(family, render) -> None:
    for messages in ([USER, turn(TWO), *results(TWO)], [USER, {"role": "assistant", "content": "Fine."}]):
        prompt = render(*messages, tools=TOOLS, prompt=True)

        assert prompt.startswith(render(*messages, tools=TOOLS))


def test_a_system_message_may_come_later(family, render) -> None:
    assert "Be brief." in render(USER, {"role": "system", "content": "Be brief."}, USER, prompt=True)


# What was written is read back


@pytest.mark.parametrize("content", [None, SAYS])
@pytest.mark.parametrize("calls", [ONE, TWO, [("get_time", {})]], ids=["one", "parallel", "empty"])
def test_a_turn_is_read_back(calls, content, family, written) -> None:
    message = read(family, written(turn(calls, content)))

    assert_calls(message, calls)
    assert (message.content or "").strip() == (content or "" if family.content else "")


@pytest.mark.parametrize("style", [{}, {"ensure_ascii": False}, {"separators": (",", ":")}, {"indent": 2}], ids=str)
def test_arguments_may_be_text(style, family, written) -> None:
    assert_calls(read(family, written(turn(spelled(TWO, **style)))), TWO)


def test_arguments_as_text_and_as_object_are_written_alike(family, written) -> None:
    assert written(turn(spelled(TWO, ensure_ascii=False))) == written(turn(TWO))


@pytest.mark.parametrize("arguments", ["", None], ids=repr)
def test_no_arguments_are_an_empty_object(arguments, family, written) -> None:
    assert written(turn([("get_time", arguments)])) == written(turn([("get_time", {})]))


@pytest.mark.parametrize(
    "arguments", ['{"city": "Par', '{"city": \\', "Paris", "[1]", '{"city": "\\ud83d', '{"a": "\\u']
)
def test_malformed_arguments_cost_no_call(arguments, family, written) -> None:
    text = written(turn([("get_weather", arguments), ("get_time", {})]))

    assert text.index("get_weather") < text.index("get_time")


def test_the_turn_after_results_is_read_back(family, written) -> None:
    before = (USER, turn(ONE), *results(ONE))

    assert_calls(read(family, written(turn(TWO), before)), TWO)
    assert read(family, written({"role": "assistant", "content": "Fine."}, before)).content.strip() == "Fine."


def test_reasoning_is_read_back_or_left_out(family, written) -> None:
    message = read(family, written(turn(ONE, reasoning_content="I <wonder>.")))

    assert_calls(message, ONE)
    assert (message.reasoning or "").strip() == ("I <wonder>." if family.reasoning else "")
    assert not message.content


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
arguments = st.fixed_dictionaries(
    {"city": st.text(max_size=12)},
    optional={
        "days": st.integers(),
        "ratio": st.floats(allow_nan=False, allow_infinity=False),
        "full": st.booleans(),
        "tags": st.lists(st.text(max_size=5), max_size=3),
        "more": st.dictionaries(st.text(max_size=5), json_values, max_size=3),
    },
)


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(values=arguments, as_text=st.booleans(), escaped=st.booleans())
def test_whatever_the_format_can_express_is_read_back(values, as_text, escaped, family, written) -> None:
    calls = [("get_weather", values), ("get_time", {})]
    try:
        load(family.parser).render([{"name": n, "arguments": a} for n, a in calls], tools=TOOLS)
    except RenderError:
        assume(False)

    assert_calls(read(family, written(turn(spelled(calls, ensure_ascii=escaped) if as_text else calls))), calls)


# Images


@pytest.mark.parametrize("kind", ["image", "image_url"])
def test_images_are_written_in_their_place(kind, family, render, parts) -> None:
    prompt = render(parts(kind), prompt=True)

    assert "See<|image|>there." in prompt
    assert "system" not in prompt
    assert "See<|image|>there." in render(SYSTEM, parts(kind), tools=TOOLS)


def test_text_parts_are_text(family, render, parts) -> None:
    text = {"role": "user", "content": [part for part in parts("image")["content"] if part["type"] == "text"]}

    assert render(text, prompt=True) == render({"role": "user", "content": "Seethere."}, prompt=True)


# Where templates are used


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    """Byte-level, with tokens that messages here spell."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    backend = Tokenizer(models.BPE({letter: number for number, letter in enumerate(letters)}, []))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens(["<BOS>", "<EOS>", "<here>", "<d>", "'c'", "<little>"])
    return PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<BOS>", eos_token="<EOS>")


WHOLE = [
    SYSTEM,
    USER,
    turn(TWO, SAYS, reasoning_content="Hm."),
    *results(TWO),
    {"role": "assistant", "content": "Fine."},
]


def test_transformers_renders_the_same(family, render, tokenizer) -> None:
    template = toolglot_templates.read(f"tool_chat_template_{family.name}")
    kwargs = {"tools": TOOLS, "date_string": "D"}
    prompt = tokenizer.apply_chat_template(
        WHOLE, chat_template=template, tokenize=False, add_generation_prompt=True, **kwargs
    )

    assert prompt == render(*WHOLE, prompt=True, **kwargs)


def test_the_server_renders_the_same_and_no_text_of_a_client_is_a_token(family, render, tokenizer) -> None:
    renderer = PromptRenderer(tokenizer, chat_template=toolglot_templates.read(f"tool_chat_template_{family.name}"))
    request = Request(
        messages=read_messages(WHOLE),
        tools=tuple(Tool.from_openai(tool, "tools") for tool in TOOLS),
        chat_template_kwargs={"date_string": "D"},
    )
    prompt = renderer.render(request)
    tools = [tool.to_openai() for tool in request.tools]
    special = set(tokenizer.convert_tokens_to_ids(["<here>", "<d>", "'c'", "<little>"]))

    assert prompt.text == render(*request.messages, tools=tools, prompt=True, date_string="D")
    assert not special & set(prompt.token_ids)
