"""What the machine makes of the vocabulary's parts, with formats made up for the purpose."""

from __future__ import annotations

import json

import pytest

from toolglot import Call, Parser
from toolglot.formats import (
    AlphanumericIds,
    Calls,
    Frame,
    JsonCall,
    OwnIds,
    Reasoning,
    TemplateIds,
    WireFormat,
    WireFormatParser,
)
from toolglot.testing.reading import in_every_split

TOOLS = [{"type": "function", "function": {"name": name}} for name in ("f", "g")]


def parser_of(*dialects, **fields):
    return Parser("toy", WireFormatParser(WireFormat(tuple(dialects), **fields)))


TAGGED = Calls(JsonCall(), call=Frame(("<call>\n",), ("\n</call>",)), separator="\n")
ARRAY = Calls(JsonCall(), section=Frame(("<calls>~[", "[CALLS]~["), ("]~</calls>", "]")), separator=", ")
CHAIN = Calls(JsonCall(arguments=("parameters",)), section=Frame(("<|tag|>",)), separator="; ")
NESTED = Calls(JsonCall(), call=Frame(("<one>",), ("</one>",)), section=Frame(("<all>",), ("</all>",)))

F, G = '{"name": "f", "arguments": {"a": [1]}}', '{"name": "g", "arguments": {}}'
BOTH = [("f", '{"a": [1]}'), ("g", "{}")]


def read(parser, text, **context):
    return in_every_split(parser, text, **{"tools": TOOLS, **context})


def summary(message):
    calls = [(call.name, call.arguments, call.outcome, call.repairs, call.rest) for call in message.tool_calls]
    return message.content, message.reasoning, calls, message.unparsed


def calls(message):
    return [(call.name, call.arguments) for call in message.tool_calls]


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        (TAGGED, f"<call>\n{F}\n</call>\n<call>\n{G}\n</call>"),
        (TAGGED, f"<call>{F}</call><call>{G}</call>"),
        (ARRAY, f"<calls>[{F}, {G}]</calls>"),
        (ARRAY, f"[CALLS] [\n  {F},\n  {G}\n]"),
        (ARRAY, f"<calls>[{F}, {G}"),
        (CHAIN, f"<|tag|>{F}; {G}".replace("arguments", "parameters")),
        (CHAIN, f"<|tag|>{F}{G}".replace("arguments", "parameters")),
        (NESTED, f"<all><one>{F}</one><one>{G}</one></all>"),
        (NESTED, f"<all>\n<one> {F} </one>\n<one>{G}</one>\n</all>\n"),
    ],
)
def test_frames_sections_and_separators(dialect, text):
    message = read(parser_of(dialect), text)

    assert calls(message) == BOTH
    assert message.content is None
    assert all(call.outcome == "ok" and not call.repairs for call in message.tool_calls)


@pytest.mark.parametrize("dialect", [TAGGED, ARRAY, CHAIN, NESTED])
def test_what_is_rendered_is_read(dialect):
    parser = parser_of(dialect)
    made = [Call("", name, arguments) for name, arguments in BOTH]

    assert calls(read(parser, parser.render(made))) == BOTH
    for seed in range(40):
        message = parser.parse(parser.render(made, vary=seed), tools=TOOLS)
        assert [(name, json.loads(text)) for name, text in calls(message)] == [("f", {"a": [1]}), ("g", {})]
        assert message.content is None


def test_text_around_a_section_is_content():
    message = read(parser_of(NESTED), f"Sure. <all><one>{F}</one></all> Done.")

    assert (message.content, calls(message)) == ("Sure. Done.", BOTH[:1])


def test_text_between_calls_of_a_section_is_content_and_the_section_goes_on():
    message = read(parser_of(NESTED), f"<all><one>{F}</one> and also <one>{G}</one></all> Done.")

    assert (message.content, calls(message)) == (" and also Done.", BOTH)


def test_a_section_that_is_closed_after_text_is_over():
    message = read(parser_of(NESTED), f"<all><one>{F}</one> and</all> <one>{G}</one>")

    assert (message.content, calls(message)) == (f" and <one>{G}</one>", BOTH[:1])


def test_an_array_ends_where_something_else_stands():
    message = read(parser_of(ARRAY), f"<calls>[{F}, oops]</calls>")

    assert calls(message) == BOTH[:1]
    assert message.content == ", oops]</calls>"


def test_an_empty_section_is_no_call():
    assert read(parser_of(ARRAY), "<calls>[]</calls>").content == "<calls>[]</calls>"


def test_several_dialects_are_read_and_the_first_is_written():
    parser = parser_of(TAGGED, ARRAY)

    assert calls(read(parser, f"<calls>[{F}, {G}]</calls>")) == BOTH
    assert calls(read(parser, f"<call>\n{F}\n</call> then [CALLS][{G}]")) == BOTH
    assert parser.render([Call("", "f", "{}")]).startswith("<call>")


def test_a_constrained_output_is_read_as_the_first_dialect_writes_it():
    parser = parser_of(TAGGED, ARRAY)
    other = f"<calls>[{F}]</calls>"
    tight = f"<call>{F}</call>"

    assert read(parser, other, constrained=True).content == other
    assert read(parser, tight, constrained=True).content == tight
    assert calls(read(parser, f"<call>\n{F}\n</call>\n<call>\n{G}\n</call>", constrained=True)) == BOTH


@pytest.mark.parametrize(
    ("text", "repairs"),
    [
        (f"<call>{F}", ("missing_closer",)),
        (f"<call>{F[:-1]}", ("missing_closer",)),
        (f"<call>{F}<call>{G}</call>", ("missing_closer",)),
        (f"<call>{F}}}}}</call>", ("extra_braces",)),
        ('<call>{"name": "f"}</call>', ("missing_arguments",)),
        ('<call>{"name": "f", "arguments": null}</call>', ("null_arguments",)),
        ('<call>{"arguments": null, "name": "f"}</call>', ("null_arguments",)),
        ('<call>{"name": "f", "arguments": "{\\"a\\": \\"\\\\u00e9\\"}"}</call>', ("string_arguments",)),
        ('<call>{"arguments": "{}", "name": "f"}</call>', ("string_arguments",)),
    ],
)
def test_repairs_are_named_and_can_be_turned_off(text, repairs):
    parser = parser_of(TAGGED)
    call = read(parser, text).tool_calls[0]
    plain = read(parser, text, repair=False).tool_calls[0]

    assert (call.outcome, call.repairs) == ("ok", repairs)
    assert json.loads(call.arguments) is not None
    assert (plain.outcome, plain.repairs) == ("malformed", ())


def test_text_after_a_missing_closer_is_content_and_a_late_closer_is_not():
    message = read(parser_of(TAGGED), f"<call>{F} That is it.\n</call>\n")

    assert (message.content, calls(message)) == (" That is it.\n", BOTH[:1])
    assert message.tool_calls[0].repairs == ("missing_closer",)


@pytest.mark.parametrize(
    ("text", "arguments", "content"),
    [
        ('<call>{"name": "f", "arguments": {"a": 1</call> x', '{"a": 1', " x"),
        ('<call>{"name": "f", "arguments": {"a": "x}}\n</call>' + f"<call>{G}</call>", '{"a": "x}}\n', None),
        ('<call>{"name": "f", "arguments": {"a": tru}}</call>', '{"a": tru}', None),
        ('<call>{"name": "f", "arguments": {"a": 1} oops}</call>', '{"a": 1}', None),
        ('<call>{"name": "f", "arguments": [1]}</call>', "[1]", None),
        ('<call>{"name": "f", "arguments": {}, "arguments": {"b": 2}}</call>', "{}", None),
        ('<call>{"name": "f", "arguments": {"a": 1', '{"a": 1', None),
    ],
)
def test_a_call_that_breaks_after_it_was_announced_is_malformed(text, arguments, content):
    message = read(parser_of(TAGGED), text)

    assert (message.tool_calls[0].arguments, message.tool_calls[0].outcome) == (arguments, "malformed")
    assert message.content == content


def test_a_failed_attempt_is_content_and_reading_goes_on_at_the_failing_character():
    message = read(parser_of(TAGGED), f"<call>{{'name'<call>{F}</call>")

    assert (message.content, message.unparsed, calls(message)) == ("<call>{'name'", True, BOTH[:1])


@pytest.mark.parametrize(
    ("text", "content", "found"),
    [
        ("Hi <call>", "Hi ", []),
        ("Hi <call>\n", "Hi ", []),
        ("Hi <cal", "Hi <cal", []),
        ('<call>{"na', '<call>{"na', []),
        ('<call>{"name": "f", "arg', None, [("f", "", "truncated")]),
        ('<call>{"name": "f", "arguments": {"a": "x', None, [("f", '{"a": "x', "truncated")]),
        ('<call>{"name": "f", "arguments": {"a": "x</ca', None, [("f", '{"a": "x</ca', "truncated")]),
        (f"<call>{F}", None, [("f", '{"a": [1]}', "truncated")]),
        (f"<call>{F}</call>", None, [("f", '{"a": [1]}', "ok")]),
    ],
)
def test_an_output_that_the_limit_cuts(text, content, found):
    message = read(parser_of(TAGGED), text, finish_reason="length")

    assert message.content == content
    assert [(call.name, call.arguments, call.outcome) for call in message.tool_calls] == found


def test_members_that_are_no_part_of_the_call_are_its_rest():
    message = read(parser_of(TAGGED), '<call>{"type": "fun\\"c", "name": "f", "x": [1], "arguments": {}}</call>')

    assert message.tool_calls[0].rest == '"type": "fun\\"c""x": [1]'
    assert message.tool_calls[0].outcome == "ok"


@pytest.mark.parametrize(
    ("text", "content", "reasoning"),
    [
        ("<think>\nhm\n</think>\n\nyes", "yes", "hm"),
        ("\n<think>hm</think>yes </think>", "yes </think>", "hm"),
        ("yes <think>no</think>", "yes <think>no</think>", None),
        ("<think>hm", None, "hm"),
        ("<think></think>", None, None),
        ("<think>a </think> <think>b</think>", "<think>b</think>", "a"),
    ],
)
def test_reasoning_stands_at_the_start(text, content, reasoning):
    message = read(parser_of(TAGGED, reasoning=Reasoning()), text)

    assert (message.content, message.reasoning) == (content, reasoning)


def test_reasoning_that_the_prompt_opened():
    message = read(parser_of(TAGGED, reasoning=Reasoning()), "\nhm\n</think>\n\nyes", reasoning_open=True)

    assert (message.content, message.reasoning) == ("yes", "hm")


def test_a_call_inside_reasoning_ends_it_where_the_format_says_so():
    text = f"<think>hm <call>{F}</call> more</think>"
    ends = read(parser_of(TAGGED, reasoning=Reasoning(call_ends=True)), text)
    stays = read(parser_of(TAGGED, reasoning=Reasoning()), text)

    assert (ends.reasoning, calls(ends), ends.content) == ("hm", BOTH[:1], " more</think>")
    assert (stays.reasoning, calls(stays)) == (f"hm <call>{F}</call> more", [])


def test_reasoning_may_open_again_after_a_call():
    text = f"<think>a</think><call>{F}</call>\n<think>b</think>yes"
    again = read(parser_of(TAGGED, reasoning=Reasoning(again=True)), text)
    once = read(parser_of(TAGGED, reasoning=Reasoning()), text)

    assert (again.reasoning, again.content) == ("ab", "yes")
    assert (once.reasoning, once.content) == ("a", "\n<think>b</think>yes")


def test_a_trailer_counts_only_at_the_end():
    parser = parser_of(TAGGED, trailer=("</s>",))

    assert read(parser, "yes</s>").content == "yes"
    assert read(parser, "yes</s> no").content == "yes</s> no"
    assert read(parser, f"<call>{F}</call>\n</s>\n").content is None


@pytest.mark.parametrize("constrained", [False, True])
@pytest.mark.parametrize(
    ("text", "unparsed"),
    [
        ('{"answer": 42}', False),
        ('[1, {"name": "Alice"}]', False),
        ('{"name": "h", "parameters": {}}', False),
        ('{"name": "f", "parameters": oops}', True),
    ],
)
def test_json_that_names_no_offered_tool_is_no_call_that_could_not_be_read(text, unparsed, constrained):
    bare = Calls(JsonCall(arguments=("parameters",)), section=Frame(("",)), separator="; ")
    message = read(parser_of(bare), text, constrained=constrained)

    assert (message.content, message.tool_calls, message.unparsed) == (text, (), unparsed)


@pytest.mark.parametrize("form", [ARRAY, NESTED])
@pytest.mark.parametrize("broken", ['{"a": "b\n', '{"a": <', '{"a": [1, <'])
def test_a_broken_call_ends_at_the_end_of_its_section(form, broken):
    opener, closer = (form.section.open[0] + form.call.open[0]).replace("~", ""), form.section.close[0].replace("~", "")
    text = f'{opener}{{"name": "f", "arguments": {broken}'
    message = read(parser_of(form), f"{text}{closer} And more.")

    (call,) = message.tool_calls
    assert (call.outcome, message.content) == ("malformed", " And more.")


def test_an_unknown_tool_is_a_call_or_content():
    text = f"<call>{F}</call>".replace('"f"', '"h"')

    assert read(parser_of(TAGGED), text).tool_calls[0].outcome == "unknown_tool"
    assert read(parser_of(TAGGED), text, unknown_tools="content").content == text


def test_ids():
    own = JsonCall(id="id")
    text = '<call>{"name": "f", "arguments": {}, "id": "abc123DEF"}</call>'
    first = '<call>{"id": "abc123DEF", "name": "f", "arguments": {}}</call>'
    framed = Calls(own, call=TAGGED.call)

    assert read(parser_of(framed, ids=OwnIds()), first).tool_calls[0].id == "abc123DEF"
    assert read(parser_of(framed, ids=AlphanumericIds()), first).tool_calls[0].id == "abc123DEF"
    assert len(read(parser_of(framed, ids=AlphanumericIds()), text).tool_calls[0].id) == 9
    assert read(parser_of(framed), first).tool_calls[0].rest == "abc123DEF"
    counted = read(parser_of(framed, ids=TemplateIds("functions.{name}:{index}")), text, earlier_calls=2)
    assert counted.tool_calls[0].id == "functions.f:2"
    assert read(parser_of(framed), text).tool_calls[0].id.startswith("call_")


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        (r"{\"a\": \"\q\", \"b\": \"\u00e9\ud83d\ude00\"}", r'{"a": "\q", "b": "é😀"}'),
        (r"{\"a\": \"\u00zz\"}", r'{"a": "\u00zz"}'),
    ],
)
def test_a_bad_escape_in_a_string_of_arguments_stays_as_it_is_written(written, arguments):
    call = read(parser_of(TAGGED), f'<call>{{"name": "f", "arguments": "{written}"}}</call>').tool_calls[0]

    assert (call.arguments, call.outcome) == (arguments, "malformed")


@pytest.mark.parametrize("length", [254, 255, 256, 257, 258, 300])
def test_the_longest_names_keys_and_scalars_do_not_depend_on_the_pieces(length):
    parser = parser_of(TAGGED)
    name, digits = "f" * length, "1" * length

    named = read(parser, f'<call>{{"name": "{name}", "arguments": {{}}}}</call>')
    keyed = read(parser, f'<call>{{"{name}": 1, "name": "f", "arguments": {{}}}}</call>')
    number = read(parser, f'<call>{{"x": {digits}, "name": "f", "arguments": {{}}}}</call>')
    argument = read(parser, f'<call>{{"name": "f", "arguments": {digits}}}</call>')

    fits = length <= 256
    assert [len(message.tool_calls) for message in (named, keyed, number, argument)] == [fits] * 4


def test_a_key_that_breaks_off_is_rest():
    read_key = read(parser_of(TAGGED), '<call>{"name": "f", "arguments": {}, "KEY" x: 1}</call>').tool_calls[0]
    exact = read(parser_of(TAGGED), '<call>\n{"name": "f", "arguments": {}, "KEY": "c"}\n</call>', constrained=True)

    assert (read_key.rest, read_key.outcome) == (', "KEY" x: 1}', "malformed")
    assert exact.tool_calls[0].rest == ', "KEY": "c"}\n'


def test_a_bare_opener_begins_calls_only_where_the_format_says():
    bare = Calls(JsonCall(), section=Frame(("[",), ("]",)), separator=", ")
    start, anywhere = parser_of(bare, begins="start"), parser_of(bare)
    text = f"Sure: [{F}]"

    assert calls(read(start, f"\n[{F}]")) == calls(read(anywhere, text)) == BOTH[:1]
    assert read(start, text).content == text
    assert read(start, '[1, {"a": 2}]').content == '[1, {"a": 2}]'
    assert read(start, '[{"name": "other", "arguments": {}}]').tool_calls == ()
