"""A parameter whose name holds spaces is written, read in every split, and constrained."""

import json

import pytest

import toolglot
from toolglot import Call, Request, Tool
from toolglot.testing.reading import in_every_split
from toolglot.testing.sampling import Sampler, vocabulary

SCHEMA = {
    "type": "object",
    "properties": {"home city": {"type": "string"}, "number of days": {"type": "integer"}},
    "required": ["home city", "number of days"],
    "additionalProperties": False,
}
TOOL = Tool("get_weather", None, SCHEMA, strict=True)
CALL = Call("", "get_weather", '{"home city": "Oslo", "number of days": 3}')
NAMES = [
    "glm45",
    "glm47",
    "qwen3_coder",
    "qwen3_xml",
    "hy_v3",
    "hy_v4",
    "seed_oss",
    "mimo",
    "ling3",
    "poolside_v1",
    "step3p5",
]


@pytest.mark.parametrize("name", NAMES)
def test_it_is_read_back_in_every_split(name):
    parser = toolglot.load_parser(name)
    text = parser.render([CALL], tools=[TOOL])
    (call,) = in_every_split(parser, text, tools=[TOOL]).tool_calls
    assert (call.name, json.loads(call.arguments), call.outcome) == (CALL.name, json.loads(CALL.arguments), "ok")


@pytest.mark.parametrize("name", NAMES)
def test_it_is_admitted_by_the_grammar(name):
    parser = toolglot.load_parser(name)
    text = parser.render([CALL], tools=[TOOL])
    tag = parser.constrain(Request(tools=(TOOL,), tool_choice="required", may_reason=False))
    assert Sampler(vocabulary((text,), ()), ()).admits(tag, text)


def test_in_longcat_s_elements():
    text = (
        "<longcat_tool_call>get_weather\n<longcat_arg_key>home city</longcat_arg_key>\n"
        "<longcat_arg_value>Oslo</longcat_arg_value>\n</longcat_tool_call>"
    )
    (call,) = toolglot.load_parser("longcat").parse(text, tools=[TOOL]).tool_calls
    assert json.loads(call.arguments) == {"home city": "Oslo"}


@pytest.mark.parametrize("key", [" a", "a ", "a\nb", "a" + " " * 30 + "b"])
def test_other_whitespace_is_no_key(key):
    with pytest.raises(toolglot.RenderError):
        toolglot.load_parser("glm45").render([Call("", "f", json.dumps({key: 1}))], tools=[Tool("f")])
