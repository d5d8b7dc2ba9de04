"""An output that an operator reported: it comes out exactly, however it arrives."""

from __future__ import annotations

import pytest

from toolglot import Call, load_parser

OUTPUT = (
    "I'll fetch that page. <|tool_calls_section_begin|><|tool_call_begin|>functions.webfetch:0"
    '<|tool_call_argument_begin|>{"url": "https://example.com", "format": "markdown"}<|tool_call_end|>'
    "<|tool_calls_section_end|>"
)
TOOLS = [{"type": "function", "function": {"name": "webfetch"}}]
ARGUMENTS = '{"url": "https://example.com", "format": "markdown"}'
CALL = Call("functions.webfetch:0", "webfetch", ARGUMENTS)


def pieces(size):
    return [OUTPUT[start : start + size] for start in range(0, len(OUTPUT), size)]


@pytest.mark.parametrize(
    "chunks",
    [
        *(pieces(size) for size in range(1, len(OUTPUT) + 1)),
        *([OUTPUT[:at], OUTPUT[at:]] for at in range(1, len(OUTPUT))),
    ],
    ids=lambda chunks: f"{len(chunks[0])}+{len(chunks) - 1}",
)
def test_the_report_reads_exactly(chunks):
    stream = load_parser("kimi_k2").stream(tools=TOOLS)
    for chunk in chunks:
        stream.feed(chunk)
    stream.finish()

    assert stream.message.content == "I'll fetch that page."
    assert stream.message.tool_calls == (CALL,)
    assert load_parser("kimi_k2").parse(OUTPUT, tools=TOOLS) == stream.message


@pytest.mark.parametrize("name", ["server:tool", "ns::f", "a:1b", "a:1", "a.b:0", "x-y.z"])
@pytest.mark.parametrize("constrained", [False, True])
def test_a_name_with_colons_ends_at_the_last(name, constrained):
    parser, tools = load_parser("kimi_k2"), [{"type": "function", "function": {"name": name}}]
    call = Call(f"functions.{name}:0", name, '{"q": "v"}')
    text = parser.render([call], tools=tools)

    assert parser.parse(text, tools=tools, constrained=constrained).tool_calls == (call,)
    for spelled in (text, text if constrained else text.replace(":0<", ":0 \n<").replace("functions", "\nfunctions")):
        stream = parser.stream(tools=tools, constrained=constrained)
        for char in spelled:
            stream.feed(char)
        stream.finish()
        assert stream.message.tool_calls == (call,)
