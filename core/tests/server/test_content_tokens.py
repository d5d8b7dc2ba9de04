"""Which tokens are the content's: for each parser and its examples, and for each way to cut them into tokens."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

import toolglot
from toolglot.engine.protocol import TokenLogprobs
from toolglot.events import ContentDelta
from toolglot.server.content_tokens import ContentToken, ContentTokens

TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}}
    for name in ("get_weather", "f")
]
AROUND = ("", "Look: a<b, then.", "\n\n  t")


def tokens_of(stream, pieces):
    """The content's tokens, by their numbers, and the content."""
    found, content = ContentTokens(), ""
    for number, piece in enumerate(pieces):
        found.expect(ContentToken(number, TokenLogprobs(0.0)))
        events = stream.feed(piece)
        found.feed(piece, events)
        content += text_of(events)
    last = stream.finish()
    found.feed("", last)
    content += text_of(last)
    return [token.token_id for token in found.take(len(content))], content


def text_of(events):
    return "".join(event.text for event in events if isinstance(event, ContentDelta))


@pytest.mark.parametrize("name", toolglot.parser_names())
def test_content_is_put_together_from_its_tokens(name):
    try:
        parser = toolglot.load_parser(name)
        call = parser.render([{"name": "get_weather", "arguments": {"city": "Oslo"}}], tools=TOOLS)
    except toolglot.PluginError as error:
        pytest.skip(str(error))
    for before in AROUND:
        for after in AROUND:
            output = before + call + after
            tokens, content = tokens_of(parser.stream(tools=TOOLS), list(output))
            assert "".join(output[token] for token in tokens) == content


@pytest.mark.parametrize("seed", range(40))
def test_tokens_of_several_characters_are_those_that_have_some_of_the_content(seed):
    first, last = "It is it, a<a.", "\nit is it"
    head = "<think>\nIs it at it?\n</think>\n\n"
    middle = '\n<tool_call>\n{"name": "f", "arguments": {"a": "it is it"}}\n</tool_call>'
    output = head + first + middle + last
    chance = random.Random(seed)
    cuts = sorted({0, len(output), *chance.sample(range(len(output)), 30)})
    pieces = [output[start:end] for start, end in pairwise(cuts)]
    tokens, content = tokens_of(toolglot.load_parser("hermes").stream(tools=TOOLS), pieces)
    assert content == first + last
    ranges = [(len(head), len(head + first)), (len(head + first + middle), len(output))]
    assert tokens == [
        number
        for number, (start, end) in enumerate(pairwise(cuts))
        if any(start < stop and end > begin for begin, stop in ranges)
    ]
