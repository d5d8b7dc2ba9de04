"""Calls that mistral-common writes into a prompt are read as these calls, token by token, by the parser."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import toolglot
from toolglot import Message
from toolglot.prompts import read_messages
from toolglot.prompts.mistral import MistralRenderer
from toolglot.requests import Request
from toolglot.tokens import Detokenizer
from toolglot.tokens.mistral import MistralTokenizer
from toolglot.vocabulary import added_tokens

TokenizerOf = Callable[[int | str], MistralTokenizer]
ALL = (3, 7, 11, 13, 15, "sp3", "sp7")
ARGUMENTS = (
    "{}",
    '{"city": "Zürich 🌧", "days": 3}',
    '{"text": "[TOOL_CALLS]f[ARGS]{}[/THINK]</s> \\"quoted\\" \\\\ {[", "n": {"a": [1, 2.5, null, true]}}',
)


def written(tokenizer: MistralTokenizer, **fields: Any) -> list[int]:
    """The tokens of an assistant's message in a prompt, without the one that ends it."""
    turn = {"role": "assistant", **fields}
    messages = read_messages([{"role": "user", "content": "?"}, turn, {"role": "user", "content": "?"}])
    ids = list(MistralRenderer(tokenizer).render(Request(messages=messages)).token_ids)
    return ids[ids.index(added_tokens(tokenizer)["[/INST]"]) + 1 : ids.index(tokenizer.eos_token_id)]


def parsed(tokenizer: MistralTokenizer, ids: list[int], each: int) -> Message:
    """The message in these tokens, fed ``each`` at a time."""
    tools = [{"type": "function", "function": {"name": name}} for name in ("get_weather", "get_time")]
    stream = toolglot.load_parser("mistral", tokenizer=tokenizer).stream(tools=tools)
    detokenizer = Detokenizer(tokenizer)
    for at in range(0, len(ids), each):
        piece = detokenizer.feed(ids[at : at + each])
        stream.feed(piece.text, piece.token_ids, piece.marks)
    stream.feed(detokenizer.finish().text)
    stream.finish()
    return stream.message


def call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


@pytest.mark.parametrize("each", [1, 3, 1000])
@pytest.mark.parametrize("arguments", ARGUMENTS)
@pytest.mark.parametrize("version", ALL)
def test_calls_are_read_as_they_were_written(
    tokenizer_of: TokenizerOf, version: int | str, arguments: str, each: int
) -> None:
    calls = [call("abcdefgh1", "get_weather", arguments), call("abcdefgh2", "get_time", "{}")]

    message = parsed(tokenizer_of(version), written(tokenizer_of(version), tool_calls=calls), each)

    assert message.content is None
    assert [(made.name, made.arguments, made.outcome) for made in message.tool_calls] == [
        ("get_weather", arguments, "ok"),
        ("get_time", "{}", "ok"),
    ]
    assert all(len(made.id) == 9 and made.id.isascii() and made.id.isalnum() for made in message.tool_calls)


@pytest.mark.parametrize("version", [3, 7, 11, 13])
def test_the_parser_writes_calls_as_mistral_common_does(tokenizer_of: TokenizerOf, version: int) -> None:
    tokenizer = tokenizer_of(version)
    parser = toolglot.load_parser("mistral", tokenizer=tokenizer)
    calls = [call(f"abcdefgh{number}", "get_weather", arguments) for number, arguments in enumerate(ARGUMENTS)]
    text = tokenizer.decode(written(tokenizer, tool_calls=calls))

    made = parser.render([{"id": one["id"], **one["function"]} for one in calls])

    if version == 11:  # its ids are read; neither our grammar nor mistral-common's asks for them
        text = re.sub(r"\[CALL_ID\]\w{9}", "", text)
    assert made == text


def test_an_id_that_v11_writes_is_the_id_of_the_call(tokenizer_of: TokenizerOf) -> None:
    calls = [call("abcdefgh1", "get_weather", "{}")]

    (made,) = parsed(tokenizer_of(11), written(tokenizer_of(11), tool_calls=calls), 1).tool_calls

    assert made.id == "abcdefgh1"


@pytest.mark.parametrize("version", [7, 11, 13])
def test_content_beside_calls_is_content(tokenizer_of: TokenizerOf, version: int) -> None:
    fields = {"content": "Ich sehe nach.", "tool_calls": [call("abcdefgh1", "get_weather", "{}")]}

    message = parsed(tokenizer_of(version), written(tokenizer_of(version), **fields), 1)

    assert (message.content, len(message.tool_calls)) == ("Ich sehe nach.", 1)


@pytest.mark.parametrize("version", [13, 15])
def test_reasoning_is_read_as_it_was_written(tokenizer_of: TokenizerOf, version: int) -> None:
    fields = {"reasoning_content": "Hm.", "content": "So:", "tool_calls": [call("abcdefgh1", "get_weather", "{}")]}

    message = parsed(tokenizer_of(version), written(tokenizer_of(version), **fields), 1)

    assert (message.reasoning, message.content, len(message.tool_calls)) == ("Hm.", "So:", 1)
