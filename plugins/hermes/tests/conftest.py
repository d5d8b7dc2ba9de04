from __future__ import annotations

import pytest

from toolglot import Parser, Tool, load_parser

WEATHER = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
}


@pytest.fixture(scope="session")
def parser() -> Parser:
    return load_parser("hermes")


@pytest.fixture(scope="session")
def tools() -> list[Tool]:
    return [Tool("get_weather", None, WEATHER), Tool("f"), Tool("g")]


@pytest.fixture(scope="session")
def read(parser, tools):
    """Reads a text as a whole and character by character, which must be the same, and returns the message."""

    def read(text, *, parser=parser, tools=tools, finish_reason="stop", **context):
        whole = parser.parse(text, tools=tools, finish_reason=finish_reason, **context)
        stream = parser.stream(tools=tools, **context)
        for char in text:
            stream.feed(char)
        stream.finish(finish_reason)
        assert parts(stream.message) == parts(whole)
        return whole

    return read


def parts(message):
    calls = [(call.name, call.arguments, call.outcome, call.repairs, call.rest) for call in message.tool_calls]
    return message.content, message.reasoning, calls, message.unparsed
