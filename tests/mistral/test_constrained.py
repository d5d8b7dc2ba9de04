"""Calls under a grammar, over the vocabulary of a tokenizer of mistral-common."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
import torch

import toolglot
from toolglot.grammar import Compiler
from toolglot.requests import Request, Tool
from toolglot.tokens import Detokenizer
from toolglot.tokens.mistral import MistralTokenizer
from toolglot.vocabulary import added_tokens

TokenizerOf = Callable[[int | str], MistralTokenizer]
VERSIONS = (3, 11, 13, "sp3")


def allowed(matcher: Any, size: int) -> list[int]:
    logits = torch.zeros(size)
    matcher.mask(logits)
    return list(torch.isfinite(logits).nonzero().flatten().tolist())


def sampled(tokenizer: MistralTokenizer, compiled: Any, size: int, random: Random) -> list[int]:
    """An output of random tokens under the mask; markers and what ends a value are preferred, so that it ends."""
    endings = {token for token, text in enumerate(tokenizer.token_table.texts) if text in (b'"', b"}", b"]", b"0")}
    endings |= tokenizer.added_tokens_decoder.keys()
    tokens: list[int] = []
    matcher = compiled.matcher()
    while not matcher.finished:
        choice = allowed(matcher, size)
        likely = sorted(endings.intersection(choice))
        tokens.append(random.choice(likely if likely and random.random() < 0.5 else choice))
        assert matcher.accept(tokens[-1])
        assert len(tokens) < 1000
    return tokens[:-1]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_required_call_matches_its_schema_and_is_read(
    tokenizer_of: TokenizerOf, weather: dict[str, Any], version: int | str
) -> None:
    tokenizer = tokenizer_of(version)
    size = len(tokenizer.token_table.texts) + 5  # a model's logits are often wider than its vocabulary
    parser = toolglot.load_parser("mistral", tokenizer=tokenizer)
    context: dict[str, Any] = {"tools": [weather], "tool_choice": "required", "parallel_tool_calls": False}
    context["may_reason"] = False  # random text never ends in a fence
    compiler = Compiler(tokenizer, vocab_size=size, stop_token_ids=[tokenizer.eos_token_id])
    tag = parser.structural_tag(**context)
    assert tag is not None
    compiled = compiler.compile(tag)

    for seed in range(5):
        stream = parser.stream(**context, constrained=True)
        detokenizer = Detokenizer(tokenizer)
        for token in sampled(tokenizer, compiled, size, Random(seed)):
            piece = detokenizer.feed([token])
            stream.feed(piece.text, piece.token_ids, piece.marks)
        stream.finish()

        (call,) = stream.message.tool_calls
        arguments = json.loads(call.arguments)
        assert (call.name, call.outcome, call.repairs) == ("get_weather", "ok", ())
        assert isinstance(arguments["city"], str)
        assert stream.message.content is None


@pytest.mark.parametrize("version", VERSIONS)
def test_no_other_control_token_may_be_written(
    tokenizer_of: TokenizerOf, weather: dict[str, Any], version: int | str
) -> None:
    tokenizer = tokenizer_of(version)
    tokens = added_tokens(tokenizer)
    parser = toolglot.load_parser("mistral", tokenizer=tokenizer)
    request = Request(tools=(Tool.from_openai(weather),), tool_choice="required")
    tag = parser.constrain(request)
    assert tag is not None
    size = len(tokenizer.token_table.texts)
    matcher = Compiler(tokenizer, vocab_size=size, stop_token_ids=[tokenizer.eos_token_id]).compile(tag).matcher()

    for token in (tokens["[TOOL_CALLS]"], *_until_the_city(tokenizer, parser)):
        assert matcher.accept(token)

    assert not set(allowed(matcher, size)) & set(tokens.values())


def _until_the_city(tokenizer: MistralTokenizer, parser: Any) -> list[int]:
    """The tokens of a call from its name up to inside its first argument."""
    written = parser.render([{"name": "get_weather", "arguments": '{"city": ""}'}]).removeprefix("[TOOL_CALLS]")
    head, _, rest = written.partition("[ARGS]")
    inner = tokenizer.chat.instruct_tokenizer.tokenizer
    tokens = added_tokens(tokenizer)
    if "[ARGS]" in tokens:
        name = inner.encode(head, bos=False, eos=False)
        return [*name, tokens["[ARGS]"], *inner.encode(rest[: rest.index('""') + 1], bos=False, eos=False)]
    table = tokenizer.token_table.texts
    byte = {text: token for token, text in enumerate(table) if len(text) == 1 and token not in tokens.values()}
    return [byte[bytes([letter])] for letter in written[: written.index('""') + 1].encode()]
