"""Prompts that mistral-common writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from toolglot.errors import PromptTooLongError, RequestError
from toolglot.prompts import Prompt, read_messages
from toolglot.prompts.mistral import MistralRenderer
from toolglot.requests import Request, Tool
from toolglot.tokens.mistral import MistralTokenizer

TokenizerOf = Callable[[int | str], MistralTokenizer]
ALL = (3, 7, 11, 13, 15, "sp3", "sp7")
WITH_THINK = (13, 15)


@pytest.fixture
def render(tokenizer_of: TokenizerOf) -> Callable[..., Prompt]:
    """``render(version, messages, tools=…, **kwargs)``: the prompt for a conversation as a client sends it."""

    def prompt(version: int | str, messages: list[dict[str, Any]], tools: Any = (), **kwargs: Any) -> Prompt:
        offered = tuple(Tool.from_openai(tool) for tool in tools)
        request = Request(messages=read_messages(messages), tools=offered, chat_template_kwargs=kwargs)
        return MistralRenderer(tokenizer_of(version)).render(request)

    return prompt


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def call(call_id: str | None, arguments: str = '{"city": "Zürich"}', name: str = "get_weather") -> dict[str, Any]:
    named = {} if call_id is None else {"id": call_id}
    return {**named, "type": "function", "function": {"name": name, "arguments": arguments}}


def assistant(*calls: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", **({"tool_calls": list(calls)} if calls else {}), **fields}


def result(call_id: str, text: str = "18") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def refused(render: Callable[..., Prompt], *request: Any, **kwargs: Any) -> tuple[str, str | None]:
    with pytest.raises(RequestError) as error:
        render(*request, **kwargs)
    return str(error.value), error.value.param


EXPECTED = {
    3: '<s>[INST]Weather?[/INST][TOOL_CALLS][{"name": "get_weather", "arguments": {"city": "Zürich"}, '
    '"id": "abcdefghi"}]</s>[TOOL_RESULTS]{"content": 18, "call_id": "abcdefghi"}[/TOOL_RESULTS]',
    7: '<s>[SYSTEM_PROMPT]Be brief.[/SYSTEM_PROMPT][INST]Weather?[/INST][TOOL_CALLS][{"name": "get_weather", '
    '"arguments": {"city": "Zürich"}, "id": "abcdefghi"}]</s>[TOOL_RESULTS]abcdefghi[TOOL_CONTENT]18[/TOOL_RESULTS]',
    11: "<s>[SYSTEM_PROMPT]Be brief.[/SYSTEM_PROMPT][INST]Weather?[/INST][TOOL_CALLS]get_weather[CALL_ID]abcdefghi"
    '[ARGS]{"city": "Zürich"}</s>[TOOL_RESULTS]abcdefghi[TOOL_CONTENT]18[/TOOL_RESULTS]',
    13: "<s>[SYSTEM_PROMPT]Be brief.[/SYSTEM_PROMPT][INST]Weather?[/INST][TOOL_CALLS]get_weather"
    '[ARGS]{"city": "Zürich"}</s>[TOOL_RESULTS]18[/TOOL_RESULTS]',
}


@pytest.mark.parametrize("version", EXPECTED)
def test_a_conversation_is_written_as_its_generation_writes_it(render: Callable[..., Prompt], version: int) -> None:
    system = [] if version == 3 else [{"role": "developer", "content": "Be brief."}]  # v3 puts it into the last turn
    conversation = [*system, user("Weather?"), assistant(call("abcdefghi")), result("abcdefghi")]

    assert render(version, conversation).text == EXPECTED[version]


@pytest.mark.parametrize("version", ALL)
def test_the_text_of_a_prompt_is_that_of_its_tokens(
    render: Callable[..., Prompt], tokenizer_of: TokenizerOf, weather: dict[str, Any], version: int | str
) -> None:
    prompt = render(version, [user("Wie ist das Wetter in Zürich? 天気 🌧")], [weather])

    tokenizer = tokenizer_of(version)
    assert prompt.token_ids[0] == tokenizer.chat.instruct_tokenizer.tokenizer.bos_id
    assert tokenizer.decode(prompt.token_ids) == prompt.text
    assert "天気 🌧" in prompt.text
    assert '"name": "get_weather"' in prompt.text


@pytest.mark.parametrize("version", ALL)
def test_text_of_a_request_becomes_no_control_token(
    render: Callable[..., Prompt], tokenizer_of: TokenizerOf, weather: dict[str, Any], version: int | str
) -> None:
    hostile = "".join(token.content for token in tokenizer_of(version).added_tokens_decoder.values())[:600]
    tool = {"type": "function", "function": {**weather["function"], "description": hostile}}

    def conversation(text: str) -> list[dict[str, Any]]:
        return [
            {"role": "system", "content": text},
            user(text),
            assistant(call("abcdefghi", arguments=f'{{"city": "{text}"}}')),
            result("abcdefghi", text),
            assistant(content=text, **({"reasoning_content": text} if version in WITH_THINK else {})),
            user(text),
        ]

    def control(prompt: Prompt) -> list[int]:
        return [token for token in prompt.token_ids if token in tokenizer_of(version).added_tokens_decoder]

    plain = render(version, conversation("plain"), [weather])
    assert control(render(version, conversation(hostile), [tool])) == control(plain)


@pytest.mark.parametrize("version", [3, 7, 11, "sp3"])
@pytest.mark.parametrize(
    ("sent", "written"),
    [
        ("abcdefghi", "abcdefghi"),
        ("call_abcdefghi", "abcdefghi"),
        ("chatcmpl-tool-0123456789abcdef", "789abcdef"),
    ],
)
def test_the_last_nine_characters_of_a_long_id_are_written(
    render: Callable[..., Prompt], version: int | str, sent: str, written: str
) -> None:
    text = render(version, [user("Weather?"), assistant(call(sent)), result(sent)]).text

    assert text.replace(" ", "").count(written) == 2


@pytest.mark.parametrize("version", [3, 7, 11])
@pytest.mark.parametrize("sent", ["functions.get_weather:0", "1", "", "null", "ünïcödé-1"])
def test_an_id_that_is_none_of_mistrals_is_replaced_alike_in_call_and_result(
    render: Callable[..., Prompt], version: int, sent: str
) -> None:
    calls = render(version, [user("Weather?"), assistant(call(sent)), result(sent)]).text
    again = render(version, [user("Weather?"), assistant(call(sent)), result(sent), assistant(content="18"), user("?")])

    words = {word for word in _words(calls) if len(word) == 9 and word != "arguments"}
    (made,) = words
    assert _words(calls).count(made) == 2
    assert again.text.startswith(calls)


def _words(text: str) -> list[str]:
    return "".join(letter if letter.isalnum() else " " for letter in text).split()


def test_ids_that_end_alike_stay_apart(render: Callable[..., Prompt]) -> None:
    calls = assistant(call("first-123456789"), call("other-123456789"))

    text = render(11, [user("?"), calls, result("other-123456789", "b"), result("first-123456789", "a")]).text

    first, second = (part[:9] for part in text.split("[CALL_ID]")[1:])
    assert first == "123456789" != second
    assert f"[TOOL_RESULTS]{first}[TOOL_CONTENT]a" in text
    assert f"[TOOL_RESULTS]{second}[TOOL_CONTENT]b" in text


@pytest.mark.parametrize("version", [3, 11, 13])
def test_calls_without_an_id_are_given_one(render: Callable[..., Prompt], version: int) -> None:
    text = render(version, [user("?"), assistant(call(None), call(None)), user("Well?")]).text

    assert text.count("get_weather") == 2


@pytest.mark.parametrize("version", WITH_THINK)
def test_reasoning_is_written_where_there_are_tokens_for_it(render: Callable[..., Prompt], version: int) -> None:
    turn = assistant(content="Hello.", reasoning_content="A greeting.")

    text = render(version, [user("Hi"), turn, user("Bye")]).text

    assert "[/INST][THINK]A greeting.[/THINK]Hello.</s>[INST]" in text


@pytest.mark.parametrize("version", [3, 7, 11])
def test_reasoning_is_left_out_elsewhere(render: Callable[..., Prompt], version: int) -> None:
    turn = assistant(content="Hello.", reasoning_content="A greeting.")

    assert "greeting" not in render(version, [user("Hi"), turn, user("Bye")]).text


def test_reasoning_effort_is_a_setting_from_v15_on(render: Callable[..., Prompt]) -> None:
    assert '[MODEL_SETTINGS]{"reasoning_effort": "high"}' in render(15, [user("Hi")], reasoning_effort="high").text
    assert render(13, [user("Hi")], reasoning_effort="high") == render(13, [user("Hi")])
    assert render(15, [user("Hi")], enable_thinking=True) == render(15, [user("Hi")])


def test_only_a_vocabulary_with_think_tokens_says_that_the_model_reasons(tokenizer_of: TokenizerOf) -> None:
    mention = {version: "[/THINK]" in MistralRenderer(tokenizer_of(version)).template for version in (3, 7, 11, 13)}

    assert mention == {3: False, 7: False, 11: False, 13: True}


FAULTS: list[tuple[int, list[dict[str, Any]], str, str]] = [
    (7, [user("Hi"), assistant(content="")], "messages[1]", "needs `content` or `tool_calls`"),
    (7, [user("Hi"), assistant(content="Hello.")], "messages[1]", "Expected last role User or Tool"),
    (7, [user("Hi"), result("abcdefghi"), user("Bye")], "messages[1]", "Unexpected role 'tool' after role 'user'"),
    (3, [user("Hi"), assistant(call("abcdefghi"), content="So."), user("?")], "messages[1]", "but not both"),
    (3, [user("Hi"), assistant(call("abcdefghi", name="a.b")), user("?")], "messages[1]", "Function name was a.b"),
    (
        11,
        [user("Hi"), assistant(call("abcdefghi")), result("abcdefghi"), result("123456789"), user("?")],
        "messages[3]",
        "Unexpected tool call id 123456789",
    ),
    (
        11,
        [user("Hi"), assistant(call("abcdefghi")), assistant(content="Hm."), *[user("?")] * 40],
        "messages[2]",
        "Not the same number of function calls and responses",
    ),
]


@pytest.mark.parametrize(("version", "messages", "param", "message"), FAULTS)
def test_a_conversation_that_mistral_common_refuses_is_refused_with_the_message_at_fault(
    render: Callable[..., Prompt], version: int, messages: list[dict[str, Any]], param: str, message: str
) -> None:
    said, at = refused(render, version, messages)

    assert at == param
    assert message in said
    assert f"the model's tokenizer (v{version}) cannot take this request" in said


def test_a_tool_that_mistral_common_refuses_is_named(render: Callable[..., Prompt], weather: dict[str, Any]) -> None:
    dotted = {"type": "function", "function": {"name": "web.fetch"}}
    broken = {"type": "function", "function": {"name": "fetch", "parameters": {"type": "nothing"}}}

    assert refused(render, 11, [user("Hi")], [weather, dotted])[1] == "tools[1].function"
    said, at = refused(render, 11, [user("Hi")], [broken, weather])
    assert at == "tools[0].function"
    assert "Invalid tool schema" in said


def test_a_reasoning_effort_that_the_model_does_not_know_is_named(render: Callable[..., Prompt]) -> None:
    for effort in ("medium", "much"):
        assert refused(render, 15, [user("Hi")], reasoning_effort=effort)[1] == "reasoning_effort"


def test_arguments_that_nest_too_deeply_are_refused(render: Callable[..., Prompt]) -> None:
    nested = '{"a": ' + "[" * 960 + "]" * 960 + "}"

    assert refused(render, 11, [user("?"), assistant(call("abcdefghi", nested)), user("?")])[1] == "messages[1]"


def test_text_that_is_no_unicode_is_refused(render: Callable[..., Prompt]) -> None:
    said, at = refused(render, 11, [user("\ud800")])

    assert at == "messages"
    assert "no valid Unicode" in said


@pytest.mark.parametrize("version", ALL)
def test_what_is_too_long_is_refused_before_all_of_it_is_encoded(tokenizer_of: TokenizerOf, version: Any) -> None:
    renderer = MistralRenderer(tokenizer_of(version))
    long = Request(messages=read_messages([user("word " * 100_000)]))
    with pytest.raises(PromptTooLongError) as error:
        renderer.render(long, most_tokens=10_000)
    assert 10_000 < error.value.at_least < 150_000

    short = Request(messages=read_messages([user("Hi")]))
    assert renderer.render(short, most_tokens=10_000) == renderer.render(short)
