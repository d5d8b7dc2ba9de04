"""Hy3's and Hy4's markers carry the suffix that their checkpoint's vocabulary has."""

import pytest

from toolglot import Call, load_parser

TOOLS = [{"type": "function", "function": {"name": "now"}}]
NAMES = ("tool_calls", "tool_call", "tool_sep", "arg_key", "arg_value", "think")


def vocabulary(suffix):
    markers = [f"<{end}{name}{suffix}>" for name in NAMES for end in ("", "/")]
    return {marker: number for number, marker in enumerate(markers)}


@pytest.mark.parametrize("name", ["hy_v3", "hy_v4"])
@pytest.mark.parametrize("suffix", [":6124c78e", ":opensource", ""])
def test_the_suffix_is_read_off_the_vocabulary(name, suffix):
    parser = load_parser(name, tokenizer=vocabulary(suffix))
    text = parser.render([Call("", "now", "{}")])

    assert text.startswith(f"<tool_calls{suffix}>")
    assert [call.name for call in parser.parse(text, tools=TOOLS).tool_calls] == ["now"]


@pytest.mark.parametrize("name", ["hy_v3", "hy_v4"])
@pytest.mark.parametrize("suffix", [":opensource", ""])
def test_without_a_vocabulary_the_known_suffixes_are_read(name, suffix):
    text = load_parser(name, tokenizer=vocabulary(suffix)).render([Call("", "now", "{}")])

    assert [call.name for call in load_parser(name).parse(text, tools=TOOLS).tool_calls] == ["now"]
