"""Calls as elements: the families that write them, read, rendered and constrained."""

from __future__ import annotations

import json
import os
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolglot import Call, Parser
from toolglot.errors import GrammarError, RenderError
from toolglot.formats import (
    ByFlag,
    BySchema,
    ByType,
    Calls,
    ElementCall,
    Frame,
    Nested,
    Reasoning,
    WireFormat,
    WireFormatParser,
)
from toolglot.testing import work
from toolglot.testing.reading import in_every_split

_EXAMPLES = int(os.environ.get("TOOLGLOT_EXAMPLES", "0"))
many = settings(
    max_examples=_EXAMPLES or 40,
    derandomize=not _EXAMPLES,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)

THINK = Reasoning(call_ends=True)


def functions(argument, opener, closer, line="\n", between="\n"):
    call = Frame(
        (f"{opener}{line or '~'}<function=", "<function="), (f"</function>{line or '~'}{closer}", "</function>")
    )
    return WireFormat((Calls(ElementCall(f"~{{name}}~>{line}", argument), call=call, separator=between),), THINK)


def dsml(bar, section):
    body = ElementCall(
        "{name:attr}>\n",
        f"<{bar}parameter name={{key:attr}} string={{text:attr}}>{{value}}</{bar}parameter>\n",
        ByFlag(),
    )
    call = Frame((f"<{bar}invoke name=",), (f"</{bar}invoke>\n",))
    return WireFormat(
        (Calls(body, call, Frame((f"\n\n<{bar}{section}>\n",), (f"</{bar}{section}>",), optional=True)),), THINK
    )


def keyed(head, argument, closer="</tool_call>", between=""):
    return WireFormat(
        (Calls(ElementCall(head, argument), Frame(("<tool_call>",), (closer,)), separator=between),), THINK
    )


NS = "]<]minimax[>["
KEY = "<arg_key>~{key}~</arg_key>"
FAMILIES = {
    "qwen3_coder": functions("<parameter=~{key}~>\n{value}\n</parameter>\n", "<tool_call>", "</tool_call>"),
    "mimo": functions("<parameter=~{key}~>{value}</parameter>", "<tool_call>", "</tool_call>", "", ""),
    "seed_oss": functions("<parameter=~{key}~>~{value}~</parameter>\n", "<seed:tool_call>", "</seed:tool_call>"),
    "glm45": keyed("{name}\n", f"{KEY}\n<arg_value>{{value}}</arg_value>\n", between="\n"),
    "glm47": keyed("{name}~", f"{KEY}~<arg_value>{{value}}</arg_value>~"),
    "ling3": keyed("{name}\n", f"{KEY}\n<arg_value>{{value}}</arg_value>~", "\n</tool_call>", "\n"),
    "deepseek_v32": dsml("｜DSML｜", "function_calls"),
    "deepseek_v41": dsml("｜DSML｜ ", "calls"),
    "minimax_m2": WireFormat(
        (
            Calls(
                ElementCall("{name:attr}>\n", "<parameter name={key:attr}>{value}</parameter>\n"),
                Frame(("<invoke name=",), ("</invoke>\n",)),
                Frame(("<minimax:tool_call>\n",), ("</minimax:tool_call>",), optional=True),
            ),
        ),
        THINK,
    ),
    "minimax_m3": WireFormat(
        (
            Calls(
                ElementCall("{name:attr}>~", f"{NS}<{{key}}>{{value}}{NS}</{{key}}>~", Nested()),
                Frame((f"{NS}<invoke name=",), (f"{NS}</invoke>\n",)),
                Frame((f"{NS}<tool_call>\n",), (f"{NS}</tool_call>",)),
            ),
        ),
        THINK,
    ),
    "minicpm5": WireFormat(
        (
            Calls(
                ElementCall(
                    "{name:attr}>~",
                    "<param name={key:attr}>{value}</param>~",
                    BySchema(cdata=("<![CDATA[", "]]>")),
                ),
                Frame(("<function name=",), ("</function>",)),
                separator="\n",
            ),
        ),
        THINK,
    ),
    "kimi_k3": WireFormat(
        (
            Calls(
                ElementCall(
                    "{name:attr} index={number:attr}<|sep|>",
                    "<|open|>argument key={key:xml} type={type:attr}<|sep|>{value}<|close|>argument<|sep|>",
                    ByType(),
                ),
                Frame(("<|open|>call tool=",), ("<|close|>call<|sep|>",)),
                Frame(("<|open|>tools<|sep|>",), ("<|close|>tools<|sep|>",)),
            ),
        ),
        Reasoning(Frame(("<|open|>think<|sep|>",), ("<|close|>think<|sep|>",))),
    ),
}
PARSERS = {name: Parser(name, WireFormatParser(form)) for name, form in FAMILIES.items()}
QWEN, MIMO, GLM, DSML, M2, M3, K3 = (
    PARSERS[name] for name in ("qwen3_coder", "mimo", "glm47", "deepseek_v32", "minimax_m2", "minimax_m3", "kimi_k3")
)

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "note": {"type": "string"},
        "days": {"type": "integer"},
        "ratio": {"type": "number"},
        "h24": {"type": "boolean"},
        "opts": {"$ref": "#/$defs/opts"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "label": {"type": ["string", "null"]},
        "none": {"type": "null"},
    },
    "$defs": {
        "opts": {
            "type": "object",
            "properties": {
                "unit": {"type": "string"},
                "steps": {"type": "array", "items": {"type": "integer"}},
                "deep": {"$ref": "#/$defs/opts"},
            },
        }
    },
}
TOOLS = [
    {"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}},
    {"type": "function", "function": {"name": "now"}},
]


def summary(message):
    calls = [(call.name, call.arguments, call.outcome, call.repairs, call.rest) for call in message.tool_calls]
    return message.content, message.reasoning, calls, message.unparsed


def streamed(parser, pieces, reason="stop", **context):
    stream = parser.stream(**context)
    for piece in pieces:
        stream.feed(piece)
    stream.finish(reason)
    return stream.message


def read(parser, text, reason="stop", **context):
    return in_every_split(parser, text, finish_reason=reason, **{"tools": TOOLS, **context})


def call_of(parser, text, reason="stop", **context):
    (call,) = read(parser, text, reason, **context).tool_calls
    return call


def qwen(arguments, end="</function>\n</tool_call>"):
    return f"<tool_call>\n<function=get_weather>\n{arguments}{end}"


def element(key, value):
    return f"<parameter={key}>\n{value}\n</parameter>\n"


# -- what the families write

D, D4 = "｜DSML｜", "｜DSML｜ "
WRITTEN = {
    "qwen3_coder": "<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n3\n"
    "</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=now>\n</function>\n</tool_call>",
    "mimo": "<tool_call><function=get_weather><parameter=city>Oslo</parameter><parameter=days>3</parameter></function>"
    "</tool_call><tool_call><function=now></function></tool_call>",
    "seed_oss": "<seed:tool_call>\n<function=get_weather>\n<parameter=city>Oslo</parameter>\n<parameter=days>3"
    "</parameter>\n</function>\n</seed:tool_call>\n<seed:tool_call>\n<function=now>\n</function>\n</seed:tool_call>",
    "glm45": "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n<arg_key>days</arg_key>\n"
    "<arg_value>3</arg_value>\n</tool_call>\n<tool_call>now\n</tool_call>",
    "glm47": "<tool_call>get_weather<arg_key>city</arg_key><arg_value>Oslo</arg_value><arg_key>days</arg_key>"
    "<arg_value>3</arg_value></tool_call><tool_call>now</tool_call>",
    "ling3": "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value><arg_key>days</arg_key>\n"
    "<arg_value>3</arg_value>\n</tool_call>\n<tool_call>now\n\n</tool_call>",
    "deepseek_v32": f'\n\n<{D}function_calls>\n<{D}invoke name="get_weather">\n<{D}parameter name="city" string="true">'
    f'Oslo</{D}parameter>\n<{D}parameter name="days" string="false">3</{D}parameter>\n</{D}invoke>\n'
    f'<{D}invoke name="now">\n</{D}invoke>\n</{D}function_calls>',
    "deepseek_v41": f'\n\n<{D4}calls>\n<{D4}invoke name="get_weather">\n<{D4}parameter name="city" string="true">'
    f'Oslo</{D4}parameter>\n<{D4}parameter name="days" string="false">3</{D4}parameter>\n</{D4}invoke>\n'
    f'<{D4}invoke name="now">\n</{D4}invoke>\n</{D4}calls>',
    "minimax_m2": '<minimax:tool_call>\n<invoke name="get_weather">\n<parameter name="city">Oslo</parameter>\n'
    '<parameter name="days">3</parameter>\n</invoke>\n<invoke name="now">\n</invoke>\n</minimax:tool_call>',
    "minimax_m3": f'{NS}<tool_call>\n{NS}<invoke name="get_weather">{NS}<city>Oslo{NS}</city>{NS}<days>3{NS}</days>'
    f'{NS}</invoke>\n{NS}<invoke name="now">{NS}</invoke>\n{NS}</tool_call>',
    "minicpm5": '<function name="get_weather"><param name="city">Oslo</param><param name="days">3</param></function>\n'
    '<function name="now"></function>',
    "kimi_k3": '<|open|>tools<|sep|><|open|>call tool="get_weather" index="1"<|sep|><|open|>argument key="city" '
    'type="string"<|sep|>Oslo<|close|>argument<|sep|><|open|>argument key="days" type="number"<|sep|>3<|close|>'
    'argument<|sep|><|close|>call<|sep|><|open|>call tool="now" index="2"<|sep|><|close|>call<|sep|>'
    "<|close|>tools<|sep|>",
}
BOTH = [("get_weather", '{"city": "Oslo", "days": 3}'), ("now", "{}")]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_is_written_and_read_as_its_template_writes_it(family):
    parser = PARSERS[family]
    rendered = parser.render([Call("", *one) for one in BOTH], tools=TOOLS)

    message = read(parser, rendered)

    assert rendered.strip() == WRITTEN[family].strip()
    assert [(call.name, call.arguments) for call in message.tool_calls] == BOTH
    assert all((call.outcome, call.repairs, call.rest) == ("ok", (), "") for call in message.tool_calls)
    assert message.content is None


@pytest.mark.parametrize("family", FAMILIES)
def test_text_around_calls_is_content_and_whitespace_between_markers_is_free(family):
    parser = PARSERS[family]
    for seed in range(30):
        rendered = parser.render([Call("", *one) for one in BOTH], tools=TOOLS, vary=seed)
        message = parser.parse(f"Sure. {rendered} Done.", tools=TOOLS)
        found = [(call.name, json.loads(call.arguments)) for call in message.tool_calls]
        assert found == [("get_weather", {"city": "Oslo", "days": 3}), ("now", {})], rendered
        assert message.content.split() == ["Sure.", "Done."]


# -- values


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("\nOslo\n", "Oslo"),
        ("Oslo", "Oslo"),
        ("\n\n  Oslo\n\n", "\n  Oslo\n"),
        (" Oslo ", " Oslo "),
        ("\n\n", ""),
        ("\n", ""),
        ("", ""),
        ('\na"b\\c\té\u2028🚀\x00\n', 'a"b\\c\té\u2028🚀\x00'),
        ("\n<p>\n</parameter> stays\n</p>\n", "<p>\n</parameter> stays\n</p>"),
        ("\n</parameter></parameter>\n", "</parameter></parameter>"),
        (
            "\nends with </tool_call> or </function>\n</tool_call>\n",
            "ends with </tool_call> or </function>\n</tool_call>",
        ),
        (f"\n</parameter>{' ' * 513}<parameter=x>\n", f"</parameter>{' ' * 513}<parameter=x>"),
        ("\n</param\n", "</param"),
    ],
)
def test_a_string_is_what_stands_between_its_markers(written, value):
    call = call_of(QWEN, qwen(f"<parameter=city>{written}</parameter>\n"))

    assert call.arguments == json.dumps({"city": value}, ensure_ascii=False)
    assert (call.outcome, call.repairs) == ("ok", ())


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("days", "3", "3"),
        ("days", "\n 3 \n\n", "3"),
        ("days", "three", '"three"'),
        ("h24", "True", "true"),
        ("ratio", "2.50", "2.50"),
        ("label", "null", "null"),
        ("label", " x ", '" x "'),
        ("none", "None", "null"),
        ("opts", '{"unit":  "</parameter>"}', '{"unit":  "</parameter>"}'),
        ("tags", "['a', \"b\"]", '["a", "b"]'),
        ("city", "3", '"3"'),
        ("unknown", "3", '"3"'),
    ],
)
def test_the_schema_says_what_a_value_is(key, text, value):
    call = call_of(MIMO, f"<tool_call><function=get_weather><parameter={key}>{text}</parameter></function></tool_call>")

    assert call.arguments == f'{{"{key}": {value}}}'


@pytest.mark.parametrize(
    ("attributes", "text", "value"),
    [
        ('name="city" string="true"', "00501", '"00501"'),
        ("name='days' string=true", "5", '"5"'),
        ('name="days" string="false"', " 5 ", "5"),
        ('name="days"', "5", "5"),
        ('name="city"', "5", "5"),
        ('name="city" string="false"', "Oslo", '"Oslo"'),
        ('name="h24" string="false"', "True", "true"),
        ('name="opts" string="false"', '{"a": [1, 2]}', '{"a": [1, 2]}'),
    ],
)
def test_a_flag_says_whether_a_value_is_a_string(attributes, text, value):
    call = call_of(
        DSML, f'<{D}invoke name="get_weather">\n<{D}parameter {attributes}>{text}</{D}parameter>\n</{D}invoke>'
    )

    assert list(json.loads(call.arguments).values()) == [json.loads(value)]


@pytest.mark.parametrize(
    ("attributes", "text", "arguments"),
    [
        ('key="city" type="string"', "3", '{"city": "3"}'),
        ('key="days" type="number"', "3", '{"days": 3}'),
        ('key="days" type="string"', "3", '{"days": "3"}'),
        ('key="days"', "3", '{"days": 3}'),
        ('key="city"', "3", '{"city": "3"}'),
        ('key="x" type="number"', "three", '{"x": "three"}'),
        ('key="a&quot;&amp;&lt;" type="array"', '["a","b"]', '{"a\\"&<": ["a","b"]}'),
    ],
)
def test_a_type_says_what_a_value_is(attributes, text, arguments):
    call = call_of(
        K3,
        '<|open|>tools<|sep|><|open|>call tool="get_weather" index="1"<|sep|>'
        f"<|open|>argument {attributes}<|sep|>{text}"
        "<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>",
    )

    assert call.arguments == arguments


def nested(inside):
    inside = inside.replace("<", NS + "<")
    return f'{NS}<tool_call>\n{NS}<invoke name="get_weather">{inside}{NS}</invoke>\n{NS}</tool_call>'


@pytest.mark.parametrize(
    ("inside", "arguments"),
    [
        ("<city>a b</city>", {"city": "a b"}),
        (
            "<opts><unit>7</unit><steps><item>1</item><item>2</item></steps></opts>",
            {"opts": {"unit": "7", "steps": [1, 2]}},
        ),
        ("<opts>\n  <deep><deep><unit>x</unit></deep></deep>\n</opts>", {"opts": {"deep": {"deep": {"unit": "x"}}}}),
        ("<tags><item>1</item></tags>", {"tags": ["1"]}),
        ("<tags><tag>a</tag><tag>b</tag></tags>", {"tags": ["a", "b"]}),
        ("<tags></tags><opts></opts>", {"tags": [], "opts": {}}),
        ('<opts>{"unit": "x"}</opts>', {"opts": {"unit": "x"}}),
        ("<x><item>1</item></x>", {"x": ["1"]}),
        ("<x><a>1</a><a>2</a><b></b></x>", {"x": {"a": ["1", "2"], "b": ""}}),
        ("<x>text <a>1</a> more</x>", {"x": {"a": "1", "$text": "text  more"}}),
        ("<label>null</label>", {"label": None}),
        ("<a~b>1</a~b>", {"a~b": "1"}),
    ],
)
def test_elements_in_a_value_are_objects_and_arrays(inside, arguments):
    call = call_of(M3, nested(inside))

    assert json.loads(call.arguments) == arguments
    assert (call.repairs, call.rest) == ((), "")


def test_elements_that_do_not_close_or_nest_too_deep_end_the_call():
    message = read(M3, nested("<city>Oslo</city><opts><unit>x</opts><days>1</days>"))
    deep = M3.parse(nested("<x>" * 2000 + "</x>" * 2000), tools=TOOLS)

    assert [(call.arguments, call.outcome) for call in message.tool_calls] == [('{"city": "Oslo"', "malformed")]
    assert message.content.startswith(f"{NS}<opts>{NS}<unit>x{NS}</opts>{NS}<days>1")
    assert deep.tool_calls[0].outcome == "malformed"
    assert deep.content.count("<x>") == 2000


def test_quotes_hold_anything_that_is_not_their_end():
    parser = PARSERS["minicpm5"]
    text = "a < b && c\n</param></function>]]>"
    written = f'<function name="get_weather"><param name="city"><![CDATA[{text}]]></param></function>'

    assert json.loads(call_of(parser, written).arguments) == {"city": text}
    assert "<![CDATA[a < b]]>" in parser.render([Call("", "get_weather", '{"city": "a < b"}')], tools=TOOLS)


# -- what models get wrong


def test_a_missing_closer_is_assumed_before_a_declared_parameter_that_is_not_given():
    text = qwen(f"<parameter=city>\nDallas\n<parameter=label>\nTX\n</parameter>\n{element('days', 2)}")
    repaired = call_of(QWEN, text)
    as_written = call_of(QWEN, text, repair=False)

    assert (repaired.arguments, repaired.repairs) == (
        '{"city": "Dallas", "label": "TX", "days": 2}',
        ("missing_closer",),
    )
    assert (json.loads(as_written.arguments)["city"], as_written.outcome) == ("Dallas\n<parameter=label>\nTX", "ok")


@pytest.mark.parametrize("inner", ["<parameter=unknown>", "<parameter=days>", "<parameter=city>", "<parameter=label"])
def test_any_other_opener_in_a_value_is_part_of_it(inner):
    call = call_of(QWEN, qwen(element("days", 1) + element("city", f"a\n{inner}\nb")))

    assert json.loads(call.arguments) == {"days": 1, "city": f"a\n{inner}\nb"}
    assert call.repairs == ()


@pytest.mark.parametrize(
    ("text", "arguments", "rest"),
    [
        ("Dallas\n<parameter=la", '{"city": "Dallas', "\n<parameter=la"),
        ("Dallas\n<parameter=zzz and ", '{"city": "Dallas\\n<parameter=zzz and ', ""),
    ],
)
def test_only_half_an_opener_that_can_become_one_is_held_back(text, arguments, rest):
    call = call_of(QWEN, f"<tool_call>\n<function=get_weather>\n<parameter=city>\n{text}", "length")

    assert (call.arguments, call.rest) == (arguments, rest)


def test_a_value_without_its_closer_runs_to_the_end_and_the_call_is_malformed():
    call = call_of(QWEN, qwen("<parameter=city>\nOslo\n"))

    assert (call.arguments, call.outcome) == ('{"city": "Oslo\\n</function>\\n</tool_call>', "malformed")


def test_a_missing_marker_before_a_value_is_repaired():
    text = (
        "<tool_call>get_weather<arg_key>city</arg_key>New York</arg_value>"
        "<arg_key>days</arg_key> 2</arg_value></tool_call>"
    )
    call = call_of(GLM, text)
    unrepaired = read(GLM, text, repair=False)

    assert (call.arguments, call.repairs) == ('{"city": "New York", "days": 2}', ("missing_opener",))
    assert unrepaired.tool_calls[0].outcome == "malformed"
    assert unrepaired.content == text.removeprefix("<tool_call>get_weather")


def test_a_missing_closer_of_the_call_is_repaired_where_nothing_else_can_follow():
    first = f"<tool_call>\n<function=get_weather>\n{element('city', 'Oslo')}"
    message = read(QWEN, f"{first}<tool_call>\n<function=now>\n</function>\n</tool_call>")
    at_the_end = call_of(QWEN, first)

    assert [call.arguments for call in message.tool_calls] == ['{"city": "Oslo"}', "{}"]
    assert [call.repairs for call in message.tool_calls] == [("missing_closer",), ()]
    assert (at_the_end.arguments, at_the_end.outcome, at_the_end.repairs) == (
        '{"city": "Oslo"}',
        "ok",
        ("missing_closer",),
    )


def test_a_key_that_comes_twice_is_written_through():
    call = call_of(QWEN, qwen(element("city", "a") + element("city", "b")))

    assert (call.arguments, call.outcome) == ('{"city": "a", "city": "b"}', "malformed")


def test_an_opener_that_is_none_ends_the_call_and_is_content():
    message = read(QWEN, qwen(f"{element('city', 'Oslo')}<parameter=a  b>\n1\n</parameter>\n"))

    assert [(call.arguments, call.outcome) for call in message.tool_calls] == [('{"city": "Oslo"', "malformed")]
    assert message.content.strip() == "<parameter=a  b>\n1\n</parameter>\n</function>\n</tool_call>"


@pytest.mark.parametrize(
    ("family", "text"),
    [
        ("qwen3_coder", "Qwen wraps calls in <tool_call> tags, then closes them."),
        ("qwen3_coder", "<tool_call>\n<function=get_weather>\nnothing\n</function>\n</tool_call>"),
        ("qwen3_coder", "<tool_call>\n<function=get_weather>\n"),
        ("qwen3_coder", "<tool_call>\n<function=get_weather>\n<parameter=city"),
        ("glm47", "Use <tool_call> tags, please."),
        ("glm47", "<tool_call>get_weather<arg_key>city"),
        ("minimax_m3", nested("</city>")),
    ],
)
def test_what_never_was_certain_is_content(family, text):
    message = read(PARSERS[family], text)

    assert message.content.strip() == text.strip()
    assert message.tool_calls == ()


def test_names_and_keys_may_have_quotes_of_either_kind_or_none():
    first = "<parameter name='a\"b\\c'>v</parameter>"
    text = f"<invoke name='get_weather'>\n{first}\n<parameter name=city>x</parameter></invoke>"

    assert json.loads(call_of(M2, text).arguments) == {'a"b\\c': "v", "city": "x"}


# -- what has arrived, and what has not


@pytest.mark.parametrize("family", FAMILIES)
def test_a_call_that_is_cut_is_delivered_as_far_as_it_got(family):
    parser, given_ = PARSERS[family], {"city": 'a "b"\né', "days": 12, "note": "x" * 9}
    text = parser.render([Call("", "get_weather", json.dumps(given_))], tools=TOOLS)
    whole = '{"city": "a \\"b\\"\\né", "days": 12, "note": "xxxxxxxxx"}'
    for end in range(len(text)):
        message = parser.parse(text[:end], tools=TOOLS, finish_reason="length")
        pieces = streamed(parser, list(text[:end]), "length", tools=TOOLS)
        assert summary(pieces) == summary(message)
        for call in message.tool_calls:
            assert call.outcome in ("truncated", "ok")
            assert call.outcome != "ok" or call.arguments == whole
            assert whole.startswith(call.arguments)
    assert parser.parse(text, tools=TOOLS, finish_reason="length").tool_calls[0].arguments == whole


@pytest.mark.parametrize(
    ("text", "arguments", "rest"),
    [
        ("<parameter=city>\nOslo\n</para", '{"city": "Oslo', "\n</para"),
        ("<parameter=city>\nOslo\n</parameter>", '{"city": "Oslo', "\n</parameter>"),
        ("<parameter=city>\nOslo\n</parameter>\n</func", '{"city": "Oslo', "\n</parameter>\n</func"),
        ("<parameter=city>\nOslo\n</parameter>\n<parameter=da", '{"city": "Oslo"', "\n<parameter=da"),
        ("<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n1", '{"city": "Oslo"', "<parameter=days>\n1"),
        ("<parameter=days>\n1", "{", "<parameter=days>\n1"),
        ("<parameter=ci", "", "<parameter=ci"),
        ("", "", ""),
    ],
)
def test_nothing_of_a_cut_call_is_lost(text, arguments, rest):
    call = call_of(QWEN, f"<tool_call>\n<function=get_weather>\n{text}", "length")

    assert (call.arguments, call.rest, call.outcome) == (arguments, rest, "truncated")


def test_strings_are_passed_on_as_they_come():
    stream = QWEN.stream(tools=TOOLS)
    stream.feed("<tool_call>\n<function=get_weather>\n<parameter=note>\n")
    said = [
        "".join(event.text for event in stream.feed(piece)) for piece in ("word ", "<b", "r>\n", "\nx", "</p", "aram")
    ]

    assert said == ["word ", "<b", "r>", "\\n\\nx", "", ""]
    assert "".join(event.text for event in stream.feed("s")) == "</params"


def test_a_constrained_output_is_read_without_repairs():
    text = "<tool_call>get_weather<arg_key>city</arg_key>Oslo</arg_value></tool_call>"

    assert read(GLM, text, constrained=True).tool_calls[0].outcome == "malformed"


@pytest.mark.parametrize("family", FAMILIES)
def test_a_constrained_output_is_read(family):
    message = read(PARSERS[family], WRITTEN[family], constrained=True)

    assert [(call.name, call.arguments, call.outcome) for call in message.tool_calls] == [(*one, "ok") for one in BOTH]


# -- laws

_CHARS = "aß東🚀 \n\t\"'\\<>/&;=|]["
_MARKERS = (
    "</parameter>",
    "<parameter=days>",
    "</function>",
    "</tool_call>",
    "</arg_value>",
    NS,
    "]]>",
    "</param>",
    "null",
    "1",
)
strings = st.lists(st.text(_CHARS, max_size=6) | st.sampled_from(_MARKERS), max_size=5).map("".join)
OPTS = st.recursive(
    st.fixed_dictionaries({}, optional={"unit": strings, "steps": st.lists(st.integers(), max_size=3)}),
    lambda inner: st.fixed_dictionaries({"deep": inner}, optional={"unit": strings}),
    max_leaves=3,
)
GIVEN = st.fixed_dictionaries(
    {},
    optional={
        "city": strings,
        "note": strings,
        "days": st.integers(),
        "ratio": st.floats(allow_nan=False, allow_infinity=False),
        "h24": st.booleans(),
        "opts": OPTS,
        "tags": st.lists(strings, max_size=3),
        "label": st.none() | strings,
        "none": st.none(),
    },
)


def is_fine(family, given_):
    """Whether a family can express arguments: no text in them is that of a marker."""
    text = json.dumps(given_, ensure_ascii=False)
    markers = (*_MARKERS[:7], "</param>") if family != "minimax_m3" else (NS,)
    return not any(marker in text for marker in markers) and given_.get("label") not in ("null", "None")


@pytest.mark.parametrize("family", FAMILIES)
@many
@given(given_=GIVEN, seed=st.none() | st.integers(0, 2**32))
def test_what_is_rendered_is_read(family, given_, seed):
    parser = PARSERS[family]
    try:
        text = parser.render([Call("", "get_weather", json.dumps(given_, ensure_ascii=False))], tools=TOOLS, vary=seed)
    except RenderError:
        assert not is_fine(family, given_), given_
        return

    message = parser.parse(text, tools=TOOLS)

    (call,) = message.tool_calls
    assert json.dumps(json.loads(call.arguments), sort_keys=True) == json.dumps(given_, sort_keys=True), text
    assert (call.outcome, call.repairs, call.rest) == ("ok", (), "")
    assert message.content is None


SENTINELS = "".join(map(chr, range(0x4E00, 0x4E40)))


@st.composite
def mangled(draw):
    """A rendered call, cut up, with characters and pieces of markers put in."""
    family = draw(st.sampled_from(sorted(FAMILIES)))
    given_ = draw(GIVEN.filter(lambda found: is_fine(family, found)))
    text = PARSERS[family].render([Call("", "get_weather", json.dumps(given_)), Call("", "now", "{}")], tools=TOOLS)
    for number in range(draw(st.integers(0, 5))):
        at, gone = draw(st.integers(0, len(text))), draw(st.integers(0, 9))
        start = draw(st.integers(0, len(text)))
        added = draw(
            st.sampled_from((SENTINELS[number], text[start : start + draw(st.integers(0, 40))], " ", "<", "\n"))
        )
        text = text[:at] + added + text[at + gone :]
    return family, text


@many
@given(output=mangled(), reason=st.sampled_from(("stop", "length")), seed=st.integers())
def test_every_split_gives_the_same_and_nothing_is_lost(output, reason, seed):
    family, text = output
    parser, rng = PARSERS[family], random.Random(seed)
    pieces, at = [], 0
    while at < len(text):
        size = rng.choice((1, 1, 2, 3, 5, 9, 20))
        pieces.append(text[at : at + size])
        at += size
    whole = parser.parse(text, tools=TOOLS, finish_reason=reason)

    assert summary(streamed(parser, pieces, reason, tools=TOOLS)) == summary(whole)
    assert summary(streamed(parser, list(text), reason, tools=TOOLS)) == summary(whole)
    said = [whole.content or "", whole.reasoning or "", *(c.name + c.arguments + c.rest for c in whole.tool_calls)]
    for char in SENTINELS:
        assert sum(one.count(char) for one in said) == text.count(char), text


def floods(parser, family):
    head, _, _ = parser.render([Call("", "get_weather", '{"note": "XYZ"}')], tools=TOOLS).partition("XYZ")
    closer = {"qwen3_coder": "</parameter>", "glm47": "</arg_value>", "minimax_m3": f"{NS}</note>"}[family]
    opener = {"qwen3_coder": "<parameter=", "glm47": "<arg_key>", "minimax_m3": f"{NS}<x>"}[family]
    for unit in (
        "<",
        " ",
        "\n",
        "a",
        "]",
        closer,
        closer[:-1],
        closer + " ",
        opener,
        opener + "x>",
        f"{opener}x>{closer}",
        head,
    ):
        yield unit, head
        yield unit, head.replace("note", "opts")
        yield unit, ""


@pytest.mark.parametrize("family", ["qwen3_coder", "glm47", "minimax_m3"])
def test_the_work_is_linear(family):
    parser = PARSERS[family]

    def reader(text):
        return lambda: streamed(parser, list(text), "length", tools=TOOLS)

    for unit, before in floods(parser, family):
        short, long = (work.calls_made(reader(before + (unit * size)[:size])) for size in (300, 1200))
        assert long <= 4.5 * short + 400, (unit, before)


# -- what cannot be written


@pytest.mark.parametrize(
    ("family", "arguments"),
    [
        ("qwen3_coder", {"city": "a\n</parameter>\n</function>"}),
        ("qwen3_coder", {"city": "a</parameter>b"}),
        ("qwen3_coder", {"city": "<parameter=days>"}),
        ("qwen3_coder", {"city": 5}),
        ("qwen3_coder", {"label": "null"}),
        ("qwen3_coder", {"unknown": 1}),
        ("qwen3_coder", {"a  key": "x"}),
        ("qwen3_coder", {"a>key": "x"}),
        ("qwen3_coder", {"opts": {"unit": "</parameter>"}}),
        ("minimax_m2", {'a"b': "x"}),
        ("kimi_k3", {"city": "<|close|>argument<|sep|>"}),
        ("minimax_m3", {"x": 1}),
        ("minimax_m3", {"x": {}}),
        ("minimax_m3", {"x": {"item": "1"}}),
        ("minimax_m3", {"opts": {"/unit": "1"}}),
        ("minimax_m3", {"opts": {"unit": NS + "<x>"}}),
        ("minimax_m3", {"note": f"{NS}</note>"}),
    ],
)
def test_what_would_not_be_read_back_is_not_written(family, arguments):
    with pytest.raises(RenderError, match="cannot be written"):
        PARSERS[family].render([Call("", "get_weather", json.dumps(arguments))], tools=TOOLS)


def test_a_value_nested_too_deep_is_not_written():
    value = {"unit": "x"}
    for _ in range(130):
        value = {"deep": value}
    with pytest.raises(RenderError, match="too deep"):
        M3.render([Call("", "get_weather", json.dumps({"opts": value}))], tools=TOOLS)


def test_keys_and_strings_with_markup_are_escaped_where_the_format_can():
    text = K3.render([Call("", "get_weather", '{"a\\"&<": "x"}')], tools=TOOLS)

    assert "a&quot;&amp;&lt;" in text
    assert call_of(K3, text).arguments == '{"a\\"&<": "x"}'


def test_a_template_needs_text_around_its_value():
    for argument in ("<a={key}>", "{value}</a>", "<a={key}>{value}"):
        with pytest.raises(ValueError, match="needs text"):
            assert ElementCall("{name}", argument).template


# -- what may be written

STRICT = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "unit": {"enum": ["celsius", "°F", None]},
        "days": {"type": "array", "items": {"type": "integer"}, "maxItems": 2},
        "code": {"type": "string", "minLength": 2, "maxLength": 3},
        "word": {"type": "string", "pattern": "^[a-z]+$"},
        "note": {"type": "string", "minLength": 1},
        "size": {"anyOf": [{"$ref": "#/$defs/size"}, {"type": "null"}]},
    },
    "required": ["city"],
    "additionalProperties": False,
    "$defs": {"size": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}},
}
STRICT_TOOLS = [
    {"type": "function", "function": {"name": "get_weather", "parameters": STRICT, "strict": True}},
    {"type": "function", "function": {"name": "now", "strict": True}},
]


@pytest.fixture(scope="module")
def accepts():
    """Whether a family's grammar admits a text, with the markers as text."""
    pytest.importorskip("xgrammar")
    from toolglot.grammar import Compiler
    from toolglot.testing.sampling import vocabulary

    tokenizer = vocabulary([], [])
    size = tokenizer.get_vocab_size()
    stop = tokenizer.token_to_id("<|stop|>")
    compiler = Compiler(tokenizer, vocab_size=size, stop_token_ids=[stop])
    compiled = {}

    def accepts(family, text, tools=STRICT_TOOLS):
        key = (family, json.dumps(tools))
        if key not in compiled:
            compiled[key] = compiler.compile(PARSERS[family].structural_tag(tools, "required", may_reason=False))
        matcher = compiled[key].matcher()
        return all(matcher.accept(token) for token in [*tokenizer.encode(text).ids, stop]) and matcher.finished

    return accepts


LOOSE = {
    "type": "object",
    "properties": {
        **{key: {"type": "string"} for key in ("city", "unit", "code", "word", "note", "town")},
        "days": {"type": "array", "items": {"type": ["integer", "string"]}},
        "size": {"type": ["null", "object"], "properties": {"x": {"type": ["number", "boolean"]}}},
    },
}
LOOSE_TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": LOOSE}}]


def rendered(family, arguments, tools):
    text = PARSERS[family].render([Call("", "get_weather", json.dumps(arguments))], tools=tools)
    return text if family.startswith("deepseek") else text.lstrip()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    "arguments",
    [
        {"city": "Oslo"},
        {"city": ""},
        {"city": "a\n\n<b> é 🚀 </b", "unit": "°F", "days": [], "code": "abc", "word": "abc", "note": "<b>"},
        {"city": "Oslo", "days": [1, 2], "size": {"x": 1.5}},
        {"city": "Oslo", "unit": None, "note": "x", "size": None},
    ],
)
def test_what_is_rendered_may_be_written(accepts, family, arguments):
    if family == "minicpm5" and "\n" in arguments["city"]:
        pytest.skip("its grammar writes no quotes")
    assert accepts(family, rendered(family, arguments, STRICT_TOOLS))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"unit": "°F", "city": "Oslo"},
        {"city": "Oslo", "town": "x"},
        {"city": "Oslo", "unit": "kelvin"},
        {"city": "Oslo", "days": ["x"]},
        {"city": "Oslo", "days": [1, 2, 3]},
        {"city": "Oslo", "code": "a"},
        {"city": "Oslo", "code": "abcd"},
        {"city": "Oslo", "word": "aBc"},
        {"city": "Oslo", "note": ""},
        {"city": "Oslo", "size": {"x": True}},
    ],
    ids=json.dumps,
)
def test_what_the_schema_forbids_may_not_be_written(accepts, family, arguments):
    assert not accepts(family, rendered(family, arguments, LOOSE_TOOLS))


@pytest.mark.parametrize("text", [element("city", "a") + element("city", "b"), element("city", "a</parameter>b")])
def test_no_parameter_is_written_twice_and_no_closer_in_a_value(accepts, text):
    assert accepts("qwen3_coder", qwen(element("city", "a")))
    assert not accepts("qwen3_coder", qwen(text))


def test_a_tool_that_takes_any_object_may_be_called_with_any_strings(accepts):
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
    assert accepts(
        "qwen3_coder", qwen(element("any_key", "5") + element("other", "<x>")).replace("get_weather", "f"), tools
    )


def test_parameters_that_are_not_declared_are_as_many_as_there_must_be(accepts):
    tools = [{"type": "function", "function": {"name": "get_weather", "parameters": {"minProperties": 2}}}]

    assert accepts("qwen3_coder", qwen(element("city", "x") + element("unit", "y")), tools)
    assert not accepts("qwen3_coder", qwen(element("city", "x")), tools)


@pytest.mark.parametrize(
    ("family", "schema", "problem"),
    [
        ("qwen3_coder", {"properties": {"a  key": {"type": "string"}}, "required": ["a  key"]}, "required 'a  key'"),
        ("qwen3_coder", {"properties": {"a": {"enum": ["</parameter>"]}}, "required": ["a"]}, "required 'a' cannot be"),
        ("qwen3_coder", {"properties": {"a": {"$ref": "#/properties/a"}}}, "/properties/a"),
        ("minimax_m3", {"type": "object", "required": ["a  b"]}, "required 'a  b' cannot be written"),
    ],
)
def test_a_schema_that_cannot_be_written_is_refused_with_the_reason(family, schema, problem):
    tools = [{"type": "function", "function": {"name": "f", "parameters": schema}}]
    with pytest.raises(GrammarError, match=problem) as refused:
        PARSERS[family].structural_tag(tools, "required")
    assert refused.value.param == "tools[0].function.parameters"


def any_family(family, schema, texts, accepts):
    """Which calls of ``get_weather`` a family's grammar admits."""
    tools = [{"type": "function", "function": {"name": "get_weather", "parameters": schema}}]
    return [accepts(family, text, tools) for text in texts]


def test_what_a_schema_joins_at_its_top_is_written_as_one_of_several_lists_of_parameters(accepts):
    by_name = {"properties": {"by": {"const": "name"}, "to": {"type": "string"}}, "required": ["by", "to"]}
    by_number = {"properties": {"by": {"const": "number"}, "to": {"type": "integer"}}, "required": ["by", "to"]}
    schema = {"oneOf": [{"$ref": "#/$defs/name"}, by_number], "$defs": {"name": by_name}}
    texts = [qwen(element("by", by) + element("to", to)) for by in ("name", "number") for to in ("x", "5")]

    # as a name, 5 would be read as a number, which is not what the schema wants there
    assert any_family("qwen3_coder", schema, texts, accepts) == [True, False, False, True]


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": ["string", "null"]}, ["null", "x", "5"], []),
        ({"type": ["string", "null"], "minLength": 2}, ["null", "xy"], ["", "x"]),
        ({"type": ["string", "integer"]}, ["5", "x", "5.5"], []),
        ({"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 3}]}, ["5", "x", "2.5", "None"], ["2", " 2"]),
        ({"anyOf": [{"type": "string"}, {"const": True}]}, ["true", "x"], ["false", "False"]),
        (
            {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer"}}]},
            ["[1]", "x"],
            ['["a"]', "{"],
        ),
        ({"enum": ["null", None, "5", "x", 5]}, ["null", "x", "5"], ["6", "None"]),
        ({"type": "string", "pattern": "^a<b"}, ["a<b", "a<bc"], ["ab", "a<b</parameter>"]),
        ({"type": "string", "pattern": "b"}, ["abc"], ["ac"]),
        ({"type": "string", "minLength": 2, "maxLength": 40}, ["x" * 39, "xy"], ["x" * 41, "x"]),
        ({"type": "string", "minLength": 6}, ["abcdef<b>", "abcdefg"], ["abcde"]),
        ({"type": "integer", "multipleOf": 5}, ["10", "-105"], ["12", "10.0"]),
        ({"minimum": 2}, ["2", "3.5"], ["1", "x", "null"]),
        ({"contains": {"type": "null"}}, ["[null]", "[null, 1]"], ["[]", "[1]", "x"]),
        ({"required": ["b"]}, ['{"b": 1}'], ["{}", "x"]),
        ({"minimum": 2, "minLength": 2}, ["3", "ab", "true"], ["1", "a"]),
        ({"$ref": "#/$defs/tree"}, ["{}", '{"a": {"a": {}}}'], ['{"a": 1}', "x"]),
    ],
)
def test_a_text_is_only_written_where_it_is_read_as_it_is_meant(accepts, schema, good, bad):
    tree = {"type": "object", "properties": {"a": {"$ref": "#/$defs/tree"}}, "additionalProperties": False}
    whole = {"properties": {"a": schema}, "$defs": {"tree": tree}}

    assert any_family("qwen3_coder", whole, [qwen(element("a", text)) for text in good], accepts) == [True] * len(good)
    assert any_family("qwen3_coder", whole, [qwen(element("a", text)) for text in bad], accepts) == [False] * len(bad)


def test_parameters_that_cannot_be_written_are_left_out(accepts):
    schema = {"properties": {"a  key": {"type": "string"}, "b": {"enum": ["</parameter>", "x"]}, "c": {"type": "null"}}}
    texts = [qwen(element("b", "x") + element("c", "null")), qwen(element("a  key", "x")), qwen(element("c", "null"))]

    assert any_family("qwen3_coder", schema, texts, accepts) == [True, False, True]


def test_undeclared_parameters_have_other_names_than_declared_ones(accepts):
    schema = {"properties": {"ab": {"type": "string"}}, "additionalProperties": {"type": "integer"}}
    texts = [qwen(element(key, "5")) for key in ("ab", "a", "abc", "_", "1")]

    assert any_family("qwen3_coder", schema, texts, accepts) == [True, True, True, True, False]
    assert any_family("qwen3_coder", schema, [qwen(element("ab", "x")), qwen(element("a", "x"))], accepts) == [
        True,
        False,
    ]
