"""How a call is read: what may vary in it, and what becomes of one that is broken."""

from __future__ import annotations

import json
import re

import pytest

from toolglot import ArgumentsDelta, CallEnd, CallStart, ContentDelta

OSLO = '{"city": "Oslo"}'
CALL = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'


def only(message):
    (call,) = message.tool_calls
    return call


def test_a_call(read):
    call = only(message := read(f'<tool_call>\n{{"name": "get_weather", "arguments": {OSLO}}}\n</tool_call>'))

    assert (call.name, call.arguments, call.outcome, call.repairs, call.rest) == ("get_weather", OSLO, "ok", (), "")
    assert (message.content, message.reasoning, message.unparsed) == (None, None, False)


def test_ids_are_random_and_differ(read):
    ids = [call.id for call in read(CALL * 3).tool_calls]

    assert all(re.fullmatch(r"call_[0-9a-f]{24}", one) for one in ids)
    assert len(set(ids)) == 3


@pytest.mark.parametrize("name", ["hermes", "qwen3_json"])
def test_both_names(read, name):
    from toolglot import load_parser

    assert only(read(CALL, parser=load_parser(name))).name == "f"


@pytest.mark.parametrize(
    "body",
    [
        '{"name": "f", "arguments": {"a": 1}}',
        '{"arguments": {"a": 1}, "name": "f"}',
        '{"name":"f","arguments":{"a": 1}}',
        ' \r\n{ "name" : "f" ,\n\t"arguments" :\t{"a": 1} } ',
        '{"name": "f", "parameters": {"a": 1}}',
        '{"parameters": {"a": 1}, "name": "f"}',
        '{"\\u006eame": "\\u0066", "arguments": {"a": 1}}',
    ],
)
def test_what_may_vary_without_a_flag(read, body):
    call = only(message := read(f"<tool_call>{body}</tool_call>"))

    assert (call.name, call.arguments, call.outcome, call.repairs, call.rest) == ("f", '{"a": 1}', "ok", (), "")
    assert message.content is None


@pytest.mark.parametrize(
    ("body", "arguments", "repair"),
    [
        ('{"name": "f", "arguments": "{\\"a\\": \\"\\\\u00e9\\\\n\\"}"}', '{"a": "\\u00e9\\n"}', "string_arguments"),
        ('{"arguments": "{\\"a\\": 1}", "name": "f"}', '{"a": 1}', "string_arguments"),
        ('{"name": "f", "arguments": "{\\"a\\": \\"\\ud83d\\ude00\\"}"}', '{"a": "😀"}', "string_arguments"),
        ('{"name": "f"}', "{}", "missing_arguments"),
        ('{"name": "f", "arguments": null}', "{}", "null_arguments"),
        ('{"arguments": null, "name": "f"}', "{}", "null_arguments"),
        ('{"name": "f", "arguments": {}}}', "{}", "extra_braces"),
        ('{"name": "f", "arguments": {}}\n} }', "{}", "extra_braces"),
        ('{"name": "f", "arguments": {"a": {}}', '{"a": {}}', "missing_closer"),
    ],
)
def test_what_is_repaired_and_flagged(read, body, arguments, repair):
    call = only(message := read(f"<tool_call>\n{body}\n</tool_call>"))

    assert (call.name, call.arguments, call.outcome, call.repairs) == ("f", arguments, "ok", (repair,))
    assert message.content is None


@pytest.mark.parametrize("end", ["", "\n", " \n\n"])
@pytest.mark.parametrize("body", ['{"name": "f", "arguments": {"a": 1}}', '{"name": "f", "arguments": {"a": 1}'])
def test_the_last_closer_may_be_missing(read, body, end):
    call = only(message := read(f"<tool_call>\n{body}{end}"))

    assert (call.arguments, call.outcome, call.repairs) == ('{"a": 1}', "ok", ("missing_closer",))
    assert message.content is None


def test_a_closer_may_be_missing_before_the_next_call(read):
    message = read(CALL.removesuffix("</tool_call>") + CALL)

    assert [(call.outcome, call.repairs) for call in message.tool_calls] == [("ok", ("missing_closer",)), ("ok", ())]
    assert message.content is None


def test_without_repairs_a_missing_closer_is_malformed(parser, tools):
    from toolglot import Output, Request

    message = parser.read(Output(CALL.removesuffix("</tool_call>")), Request(tools=tuple(tools), repair=False))

    assert (only(message).arguments, only(message).outcome, only(message).repairs) == ('{"a": 1}', "malformed", ())


def test_arguments_pass_through_as_written(read):
    text = '{ "b":1.0,"a" : 1e2,\n"b": 12345678901234567890123, "c":"\\u00e9é\\/\\ud83d\\ude00" ,"d":[ ]}'

    assert only(read(f'<tool_call>{{"name": "f", "arguments": {text}}}</tool_call>')).arguments == text


def test_arguments_are_not_coerced(read):
    call = only(read('<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo", "days": "3"}}</tool_call>'))

    assert call.arguments == '{"city": "Oslo", "days": "3"}'


def test_arguments_that_do_not_validate_are_flagged(read):
    pytest.importorskip("jsonschema_rs")
    message = read('<tool_call>{"name": "get_weather", "arguments": {"days": 3}}</tool_call>')

    assert (only(message).outcome, message.validated) == ("schema_violation", True)


@pytest.mark.parametrize("marker", ["<tool_call>", "</tool_call>", "<think>", "</think>", "</tool_call>\\n<tool_call>"])
def test_a_marker_in_a_string_is_data(read, marker):
    arguments = f'{{"{marker}": ["{marker}", "\\"{marker}{{"]}}'
    call = only(message := read(f'<tool_call>\n{{"name": "f", "arguments": {arguments}}}\n</tool_call>'))

    assert (call.arguments, call.outcome, message.content) == (arguments, "ok", None)


def test_braces_in_strings_are_data(read):
    arguments = '{"a": "}]", "b": "{[\\"", "c": "\\\\"}'

    assert only(read(f'<tool_call>{{"name": "f", "arguments": {arguments}}}</tool_call>')).arguments == arguments


def test_text_around_calls_is_content(read):
    message = read(f"One {CALL} two {CALL} three")

    assert message.content == "One two three"
    assert len(message.tool_calls) == 2


def test_extra_members_are_the_rest_of_the_call(read):
    call = only(
        read('<tool_call>{"id": 7, "name": "f", "arguments": {}, "type": "function", "x": {"y": [null]}}</tool_call>')
    )

    assert (call.name, call.arguments, call.outcome) == ("f", "{}", "ok")
    assert all(member in call.rest for member in ('"id": 7', '"type": "function"', '"x": {"y": [null]}'))


def test_members_inside_arguments_are_arguments(read):
    call = only(read('<tool_call>{"arguments": {"name": "g", "arguments": {}}, "name": "f"}</tool_call>'))

    assert (call.name, json.loads(call.arguments)) == ("f", {"name": "g", "arguments": {}})


def test_an_unknown_tool_is_forwarded_and_flagged(read):
    message = read(CALL + '<tool_call>{"name": "brew", "arguments": {"cups": 2}}</tool_call>' + CALL)

    assert [(call.name, call.outcome) for call in message.tool_calls] == [
        ("f", "ok"),
        ("brew", "unknown_tool"),
        ("f", "ok"),
    ]


def test_an_unknown_tool_can_be_content(parser, tools):
    from toolglot import Output, Request

    text = '<tool_call>{"name": "brew", "arguments": {"cups": 2}}</tool_call>'
    message = parser.read(Output(text + CALL), Request(tools=tuple(tools), unknown_tools="content"))

    assert (message.content, message.unparsed) == (text, True)
    assert only(message).name == "f"


# -- the commit point


def test_a_call_begins_with_its_name_and_the_first_of_its_arguments(parser, tools):
    stream = parser.stream(tools=tools)

    assert stream.feed('<tool_call>\n{"name": "f", "arguments": ') == []
    start, first = stream.feed("{")
    assert isinstance(start, CallStart)
    assert (start.index, start.name) == (0, "f")
    assert first == ArgumentsDelta(0, "{")
    assert stream.feed('"a": "x') == [ArgumentsDelta(0, '"a": "x')]


def test_a_call_without_arguments_begins_with_its_end(parser, tools):
    stream = parser.stream(tools=tools)

    assert stream.feed('<tool_call>{"name": "f"') == []
    start, arguments = stream.feed("}")
    assert isinstance(start, CallStart)
    assert arguments == ArgumentsDelta(0, "{}")
    assert stream.feed("</tool_call>") == [CallEnd(0, "ok", ("missing_arguments",))]


def test_arguments_before_the_name_are_sent_in_one_piece(parser, tools):
    stream = parser.stream(tools=tools)

    assert all(stream.feed(char) == [] for char in '<tool_call>{"arguments": {"a": 1}, "name": "f')
    start, arguments = stream.feed('"')
    assert isinstance(start, CallStart)
    assert arguments == ArgumentsDelta(0, '{"a": 1}')


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>",
        "<tool_call></tool_call>",
        "<tool_call>\noops\n</tool_call>",
        '<tool_call>{"name": "f", oops}</tool_call>',
        "<tool_call>{'name': 'f', 'arguments': {}}</tool_call>",
        '<tool_call>{"name": 1, "arguments": {}}</tool_call>',
        '<tool_call>{"name": "", "arguments": {}}</tool_call>',
        '<tool_call>{"arguments": {"a": 1}}</tool_call>',
        '<tool_call>[{"name": "f", "arguments": {}}]</tool_call>',
        '<tool_call>{"name": "f", "arguments": ',
        '<tool_call>{"name": "f"',
        "<tool_call>{}</tool_call>",
    ],
)
def test_what_fails_before_the_commit_point_is_content(read, text):
    message = read(f"Hm. {text}")

    assert (message.content, message.tool_calls, message.unparsed) == (f"Hm. {text}", (), True)


def test_reading_goes_on_at_the_character_that_failed(read):
    message = read(f"<tool_call>{CALL}")

    assert message.content == "<tool_call>"
    assert only(message).outcome == "ok"


def test_only_the_text_of_the_failed_call_is_flagged_as_unparsed(parser, tools):
    stream = parser.stream(tools=tools)
    events = stream.feed("Hm. <tool_call>oops") + stream.finish()

    assert events == [ContentDelta("Hm."), ContentDelta(" <tool_call>", unparsed=True), ContentDelta("oops")]


@pytest.mark.parametrize("broken", ['{"a": oops}', '{"a": 1]', '{"a" 1}', '{"a": 1,}', '{"a": 01}', '{"a": "\\x"}'])
def test_after_the_commit_point_broken_json_is_delivered_and_flagged(read, broken):
    call = only(message := read(f'<tool_call>{{"name": "f", "arguments": {broken}}}</tool_call> after'))

    assert call.arguments.startswith(broken[:-1])
    assert call.outcome == "malformed"
    assert message.content == " after"


def test_broken_json_ends_at_the_next_call_too(read):
    message = read('<tool_call>{"name": "f", "arguments": {"a": [1}}\n' + CALL)

    assert [call.outcome for call in message.tool_calls] == ["malformed", "ok"]
    assert message.content is None


def test_an_unclosed_string_does_not_swallow_the_next_call(read):
    message = read('<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo}}\n</tool_call>\n' + CALL)

    assert [(call.name, call.outcome) for call in message.tool_calls] == [("get_weather", "malformed"), ("f", "ok")]
    assert message.tool_calls[0].arguments.startswith('{"city": "Oslo}}')
    assert message.content is None


def test_text_after_the_arguments_is_the_rest_of_a_malformed_call(read):
    call = only(message := read('<tool_call>{"name": "f", "arguments": {"a": 1} and so on}</tool_call> after'))

    assert (call.arguments, call.outcome, call.rest.strip()) == ('{"a": 1}', "malformed", "and so on}")
    assert message.content == " after"


# -- whether calls may be at all


@pytest.mark.parametrize("context", [{"tool_choice": "none"}, {"tools": []}])
def test_where_no_call_may_be_the_text_passes_through(read, context):
    text = f"An example:\n{CALL}\nThat is the format. "
    message = read(text, **context)

    assert (message.content, message.tool_calls, message.unparsed) == (text, (), False)


@pytest.mark.parametrize("choice", ["auto", "required", {"type": "function", "function": {"name": "f"}}])
def test_other_choices_read_calls(read, choice):
    assert only(read(CALL, tool_choice=choice)).name == "f"
