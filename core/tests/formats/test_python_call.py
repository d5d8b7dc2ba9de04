"""Calls as Python writes them: what is read, what is given back as text, what is written."""

from __future__ import annotations

import json
import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolglot import Call, Parser
from toolglot.errors import RenderError
from toolglot.formats import Calls, Frame, PythonCall, Reasoning, WireFormat, WireFormatParser
from toolglot.formats.python_literal import MAX_KEY, MAX_WORD, literal, number
from toolglot.testing.reading import in_every_split


def listed(opener: str, closer: str) -> Calls:
    return Calls(PythonCall(), section=Frame((f"{opener}[",), (f"]{closer}",)), separator=", ")


FORMS = {
    "pythonic": WireFormat((listed("", ""),), begins="start"),
    "llama4_pythonic": WireFormat((listed("<|python_start|>~", "~<|python_end|>"), listed("", "")), begins="start"),
    "olmo3": WireFormat(
        (
            Calls(
                PythonCall("json"),
                section=Frame(("<function_calls>\n",), ("\n</function_calls>",)),
                separator="\n",
            ),
        )
    ),
    "lfm2": WireFormat((listed("<|tool_call_start|>~", "~<|tool_call_end|>"),), Reasoning(call_ends=True)),
}
PARSERS = {name: Parser(name, WireFormatParser(form)) for name, form in FORMS.items()}
FRAMES = {
    "pythonic": ("[", "]"),
    "llama4_pythonic": ("<|python_start|>[", "]<|python_end|>"),
    "olmo3": ("<function_calls>\n", "\n</function_calls>"),
    "lfm2": ("<|tool_call_start|>[", "]<|tool_call_end|>"),
}
WEATHER = {
    "city": {"type": "string"},
    "days": {"type": "integer"},
    "hourly": {"type": "boolean"},
    "limit": {"type": ["integer", "null"]},
    "labels": {"type": "array", "items": {"type": "number"}},
    "either": {"type": ["string", "integer"]},
    "place": {"$ref": "#/$defs/place"},
}
PLACE = {"type": "object", "properties": {"lat": {"type": "number"}, "name": {"type": "string"}}}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {"type": "object", "properties": WEATHER, "$defs": {"place": PLACE}},
        },
    },
    {"type": "function", "function": {"name": "f"}},
    {"type": "function", "function": {"name": "ns.make-tea"}},
]


def summary(message):
    calls = [(call.name, call.arguments, call.outcome, call.repairs, call.rest) for call in message.tool_calls]
    return message.content, message.reasoning, calls, message.unparsed


def read(parser, text, **context):
    return in_every_split(parser, text, **{"tools": TOOLS, **context})


def arguments_of(inside: str, name: str = "f", **context) -> str:
    """The arguments of one whole call of ``name``."""
    message = read(PARSERS["lfm2"], f"<|tool_call_start|>[{name}({inside})]<|tool_call_end|>", **context)
    (call,) = message.tool_calls
    assert (call.outcome, call.rest, message.content) == ("ok", "", None), summary(message)
    return call.arguments


# what real models write: the strings of the reference


@pytest.mark.parametrize("name", FORMS)
def test_two_calls_as_models_write_them(name):
    opener, closer = FRAMES[name]
    true, separator = ("true", "\n") if name == "olmo3" else ("True", ", ")
    text = f'{opener}get_weather(city="Paris", days=3){separator}f(tz="CET", h24={true}){closer}'
    message = read(PARSERS[name], text)

    assert [(call.name, call.arguments, call.outcome) for call in message.tool_calls] == [
        ("get_weather", '{"city": "Paris", "days": 3}', "ok"),
        ("f", '{"tz": "CET", "h24": true}', "ok"),
    ]
    assert message.content is None
    made = [Call("", call.name, call.arguments) for call in message.tool_calls]
    assert PARSERS[name].render(made, tools=TOOLS) == text


@pytest.mark.parametrize("name", FORMS)
def test_calls_without_arguments(name):
    opener, closer = FRAMES[name]
    message = read(PARSERS[name], f"{opener}f(){closer}")

    assert [(call.name, call.arguments, call.outcome) for call in message.tool_calls] == [("f", "{}", "ok")]


# literals


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("'Oslo'", "Oslo"),
        ('"Oslo"', "Oslo"),
        ("''", ""),
        ("'''it's \"so\"\nand so'''", 'it\'s "so"\nand so'),
        ('"""a\n\n"""', "a\n\n"),
        ('""', ""),
        ("r'C:\\new'", "C:\\new"),
        ("r'\\''", "\\'"),
        ("u'x' ", "x"),
        ("b'x'", "x"),
        ("Rb'\\n'", "\\n"),
        ("f'{{x}} }'", "{x} }"),
        (r"'\n\t\\\'\"\a\b\f\r\v'", "\n\t\\'\"\a\b\f\r\v"),
        (r"'\x41\u00e9\U0001F600\N{BULLET}\101\0'", "Aé😀•A\0"),
        (r"'\d \q \xZZ \N{no such} \U99999999'", r"\d \q \xZZ \N{no such} \U99999999"),
        ("'a\\\nb\\\r\nc'", "abc"),
        ("'two\nlines'", "two\nlines"),
        (r'"https:\/\/x"', "https://x"),
        (r"'s/\//:/'", r"s/\//:/"),
        (r"'\ud83d\ude00'", "😀"),
        ("'a]b)c,d(e'", "a]b)c,d(e"),
        ("'naïve 東京 🚀'", "naïve 東京 🚀"),
    ],
)
def test_strings(written, value):
    assert json.loads(arguments_of(f"x={written}")) == {"x": value}


@pytest.mark.parametrize(
    ("written", "json_text"),
    [
        ("0", "0"),
        ("-1", "-1"),
        ("+1", "1"),
        ("1_000", "1000"),
        ("07", "7"),
        ("-007", "-7"),
        ("0x1F", "31"),
        ("-0o17", "-15"),
        ("0b101", "5"),
        ("1.", "1.0"),
        (".5", "0.5"),
        ("-.5", "-0.5"),
        ("1e5", "1e5"),
        ("1.E-5", "1.0e-5"),
        ("2.50", "2.50"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("True", "true"),
        ("False", "false"),
        ("None", "null"),
        ("true", "true"),
        ("null", "null"),
    ],
)
def test_numbers_and_constants(written, json_text):
    assert arguments_of(f"x={written}") == f'{{"x": {json_text}}}'


@pytest.mark.parametrize("word", ["1j", "inf", "nan", "1__", "0x", "", ".", "e5", "--1", "1e", "1_e5x", "oslo", "_1"])
def test_what_is_no_number(word):
    assert number(word) is None or word == "1__"


@pytest.mark.parametrize(
    ("written", "json_text"),
    [
        ("[]", "[]"),
        ("()", "[]"),
        ("{}", "{}"),
        ("[1, 'a', None,]", '[1, "a", null]'),
        ("(1,)", "[1]"),
        ("(1, 2)", "[1, 2]"),
        ("{1, 2}", "[1, 2]"),
        ("{'a', 'b',}", '["a", "b"]'),
        ("{'a': 1, 'b': {'c': [(), {}]}}", '{"a": 1, "b": {"c": [[], {}]}}'),
        ("{1: 'x', True: 2, None: 3, 1.5: 4}", '{"1": "x", "true": 2, "null": 3, "1.5": 4}'),
        ("[[[]]]", "[[[]]]"),
        ('[{"a": true}, {"b": false}]', '[{"a": true}, {"b": false}]'),
    ],
)
def test_containers(written, json_text):
    assert arguments_of(f"x={written}") == f'{{"x": {json_text}}}'
    assert literal(written) == json_text


def test_whitespace_and_trailing_commas():
    assert arguments_of("\n  a = 1 ,\n\tb= [ 1 ,2 ] ,\n c ={ 'd' : 3 } ,\n") == '{"a": 1, "b": [1, 2], "c": {"d": 3}}'


@pytest.mark.parametrize("key", ["from", "a-b", "a.b", "$id", "größe", "x" * (MAX_KEY - 1)])
def test_any_keyword_is_read(key):
    assert arguments_of(f"{key}=1") == json.dumps({key: 1}, ensure_ascii=False)


# types from the schema


@pytest.mark.parametrize(
    ("written", "json_text"),
    [
        ('days="3"', '"days": 3'),
        ('hourly="True"', '"hourly": true'),
        ("limit='None'", '"limit": null'),
        ("labels=\"['1', 2]\"", '"labels": ["1", 2]'),
        ("labels=['1', 2]", '"labels": [1, 2]'),
        ("place=\"{'lat': 1.5}\"", '"place": {"lat": 1.5}'),
        ("place={'lat': '1.5', 'name': '2'}", '"place": {"lat": 1.5, "name": "2"}'),
        ('days="soon"', '"days": "soon"'),
        ('city="3"', '"city": "3"'),
        ('either="3"', '"either": "3"'),
        ('unknown="3"', '"unknown": "3"'),
        ("city=3", '"city": 3'),
    ],
)
def test_a_string_is_typed_where_the_schema_takes_no_string(written, json_text):
    message = read(PARSERS["llama4_pythonic"], f"[get_weather({written})]")

    assert message.tool_calls[0].arguments == f"{{{json_text}}}"


def test_a_string_streams_as_it_comes():
    stream = PARSERS["lfm2"].stream(tools=TOOLS)
    stream.feed("<|tool_call_start|>[get_weather(city='Os")
    assert stream.message.tool_calls[0].arguments == '{"city": "Os'
    stream.feed("lo\\n")
    assert stream.message.tool_calls[0].arguments == '{"city": "Oslo\\n'
    stream.feed("', days='")
    stream.feed("12")
    assert stream.message.tool_calls[0].arguments == '{"city": "Oslo\\n"'
    stream.feed("'")
    stream.feed(")")
    assert stream.message.tool_calls[0].arguments == '{"city": "Oslo\\n", "days": 12}'


# quotes that were not escaped


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("'it's'", "it's"),
        ("'say 'hi', Bo'", None),
        ("'say 'hi' now'", "say 'hi' now"),
        ('"<a href="x">y</a>"', '<a href="x">y</a>'),
        ('"""a "b""""', 'a "b"'),
    ],
)
def test_a_quote_that_cannot_end_its_string_is_data(written, value):
    text = f"<function_calls>\nf(x={written})\n</function_calls>"
    call = read(PARSERS["olmo3"], text).tool_calls[0]
    strict = read(PARSERS["olmo3"], text, repair=False).tool_calls[0]

    if value is None:
        assert call.outcome == "malformed"
    else:
        assert (json.loads(call.arguments), call.outcome, call.repairs) == ({"x": value}, "ok", ("unescaped_quotes",))
    assert strict.outcome == "malformed"


def test_two_strings_side_by_side_are_not_guessed_at():
    assert (
        read(PARSERS["lfm2"], "<|tool_call_start|>[f(x='a' 'b')]<|tool_call_end|>").tool_calls[0].outcome == "malformed"
    )


# ordinary text


@pytest.mark.parametrize(
    "text",
    [
        "[1]",
        "[1, 2, 3]",
        "[link](http://x)",
        "[get weather]",
        "[get_weather] is a tool",
        "[get_weather](http://x)",
        "[get_weather(city)](x)",
        "[get_weather(1)]",
        "[get_weather(*args)]",
        "[get_weather(city=Oslo)]",
        "[get_weatherman(city='Oslo')]",
        "[unknown(a=1)]",
        "[ns.f(a=1)]",
        "[f (a=1)]",
        "[(f(a=1))]",
        "[]",
        "[",
        "[f(",
        "[f(a='x",
    ],
)
def test_ordinary_text_is_content(text):
    message = read(PARSERS["pythonic"], text)
    if text == "[f(a='x":
        assert (message.content, message.tool_calls[0].outcome) == (None, "malformed")
        return

    assert (message.content, message.tool_calls) == (text, ())


@pytest.mark.parametrize(
    ("text", "held"),
    [("[1", ""), ("[link", ""), ("[get w", ""), ("[get_weather]", ""), ("[get", "[get"), ("[f(", "[f(")],
)
def test_ordinary_text_is_given_back_as_soon_as_it_can_be_no_call(text, held):
    stream = PARSERS["pythonic"].stream(tools=TOOLS)
    for char in text:
        stream.feed(char)

    assert (stream.message.content or "") + held == text


def test_inside_a_list_unknown_names_are_calls():
    message = read(PARSERS["pythonic"], "[ns.make-tea(milk=True), boil(), x.y-z(n=1)]")

    assert [(call.name, call.outcome) for call in message.tool_calls] == [
        ("ns.make-tea", "ok"),
        ("boil", "unknown_tool"),
        ("x.y-z", "unknown_tool"),
    ]
    assert message.content is None


def test_a_marker_makes_an_unknown_name_a_call():
    message = read(PARSERS["lfm2"], "Sure. <|tool_call_start|>[boil(n=1)]<|tool_call_end|> Done.")

    assert (message.content, message.tool_calls[0].name) == ("Sure. Done.", "boil")


# calls that break


@pytest.mark.parametrize(
    ("inside", "arguments", "content"),
    [
        ("f(a=1, b)", '{"a": 1', ", b)]"),
        ("f(a=1, 2)", '{"a": 1', ", 2)]"),
        ("f(a=1 b=2)", '{"a": 1', " b=2)]"),
        ("f(a=[1, x, 2)", '{"a": [1', ", x, 2)]"),
        ("f(a=1, b=inf)", '{"a": 1', ", b=inf)]"),
        ("f(a=(1))", '{"a": [1', "))]"),
        ("f(a=1, b=f'{c}')", '{"a": 1, "b": "', "'{c}')]"),
        ("f(a=1, **k)", '{"a": 1', ", **k)]"),
        ("f(a=[1}, b=2)", '{"a": [1', "}, b=2)]"),
        ("f(a={'b': 1, 2})", '{"a": {"b": 1', ", 2})]"),
        ("f(a=1, b='x'} ", '{"a": 1, "b": "x"', "} ]"),
    ],
)
def test_a_call_that_breaks_ends_there_and_the_rest_is_content(inside, arguments, content):
    message = read(PARSERS["pythonic"], f"[{inside}]")

    assert (message.tool_calls[0].arguments, message.tool_calls[0].outcome) == (arguments, "malformed")
    assert message.content == content


def test_a_call_that_breaks_at_a_marker_keeps_what_was_tried():
    message = read(PARSERS["olmo3"], "<function_calls>\nf(a=1, b\n</function_calls> Bye.")

    (call,) = message.tool_calls
    assert (call.arguments, call.outcome, call.rest) == ('{"a": 1', "malformed", ", b\n")
    assert message.content == " Bye."


def test_a_keyword_that_comes_twice_is_passed_on_and_flagged():
    call = read(PARSERS["pythonic"], "[f(a=1, a=2)]").tool_calls[0]

    assert (call.arguments, call.outcome) == ('{"a": 1, "a": 2}', "malformed")


@pytest.mark.parametrize("finish_reason", ["length", "stop"])
@pytest.mark.parametrize(
    ("text", "arguments", "rest"),
    [
        ("[f(a=", "", "(a="),
        ("[f(a=12", "", "(a=12"),
        ("[f(a=1, b", '{"a": 1', ", b"),
        ("[f(a='x", '{"a": "x', ""),
        ("[f(a='x\\", '{"a": "x', "\\"),
        ("[f(a='x\\u00", '{"a": "x', "\\u00"),
        ("[f(a='x'", '{"a": "x"', ""),
        ("[f(a='''x''", '{"a": "x\'\'', ""),
        ("[f(a=[1, ", '{"a": [1', ", "),
        ("[f(a={'b", "", "(a={'b"),
        ("[get_weather(days='1", "", "(days='1"),
    ],
)
def test_a_call_that_is_cut(finish_reason, text, arguments, rest):
    message = read(PARSERS["pythonic"], text, finish_reason=finish_reason)

    if finish_reason == "stop" and not arguments:
        assert (message.content, message.tool_calls) == (text, ())
        return
    (call,) = message.tool_calls
    assert (call.arguments, call.rest, message.content) == (arguments, rest, None)
    assert call.outcome == ("truncated" if finish_reason == "length" else "malformed")


def test_an_unfinished_name_is_content():
    assert read(PARSERS["pythonic"], "[get_weather", finish_reason="length").content == "[get_weather"


def test_limits_hold_at_every_split():
    for text in (f"[f(a={'1' * (MAX_WORD + 9)}(b=1))]", f"[f({'k' * (MAX_KEY + 9)}=1)]", f"[f(a='x'{' ' * 600}, b=1)]"):
        whole = PARSERS["pythonic"].parse(text, tools=TOOLS)
        for size in (1, 100, MAX_WORD + 1):
            stream = PARSERS["pythonic"].stream(tools=TOOLS)
            for at in range(0, len(text), size):
                stream.feed(text[at : at + size])
            stream.finish()
            assert summary(stream.message) == summary(whole)


# writing


KEYS = st.sampled_from(["a", "from", "a-b", "x.y", "größe"])
PIECES = st.sampled_from(
    ["'", '"', "\\", "\\\\n", "'''", '"""', "{", "}", "[", "]", "(", ")", ",", ":", "=", "\n", "\r\n", "\t", "/", "é",
     "<|tool_call_end|>", "\n</function_calls>", "None", "\x00", "🚀"]
)  # fmt: skip
TEXTS = st.lists(st.one_of(PIECES, st.text(max_size=4)), max_size=8).map("".join)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=8,
)
CALLS = st.lists(
    st.tuples(st.sampled_from(["f", "ns.make-tea"]), st.dictionaries(KEYS, VALUES, max_size=4)), min_size=1
)


@pytest.mark.parametrize("name", FORMS)
@settings(max_examples=40, deadline=None, derandomize=True)
@given(calls=CALLS, seed=st.none() | st.integers(0, 2**32))
def test_what_is_written_is_read(name, calls, seed):
    made = [Call("", called, json.dumps(arguments)) for called, arguments in calls]
    text = PARSERS[name].render(made, tools=TOOLS, vary=seed)
    message = PARSERS[name].parse(text, tools=TOOLS)
    stream, at, rng = PARSERS[name].stream(tools=TOOLS), 0, random.Random(seed)
    while at < len(text):
        size = rng.choice((1, 1, 2, 3, 7))
        stream.feed(text[at : at + size])
        at += size
    stream.finish()

    found = [(call.name, json.loads(call.arguments)) for call in message.tool_calls]
    assert json.dumps(found) == json.dumps(calls) or seed is not None
    assert json.dumps(found, sort_keys=True) == json.dumps(calls, sort_keys=True)
    assert all(call.outcome == "ok" and not call.repairs for call in message.tool_calls)
    assert message.content is None
    assert summary(stream.message) == summary(message)


BITS = [
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    "f",
    "get_weather",
    "f(",
    "a=",
    "'",
    '"',
    "'''",
    "\\",
    "r",
    "1",
    ".",
    ",",
    ":",
    "=",
    " ",
    "\n",
]
BITS += [", ", "None", "f'", "é", "\ud800", "<function_calls>\n", "\n</function_calls>", "<|tool_call_start|>"]
BITS += ["<|tool_call_end|>"]
HOSTILE = st.lists(st.sampled_from(BITS), max_size=24).map("".join)


@settings(max_examples=120, deadline=None, derandomize=True)
@given(HOSTILE, st.sampled_from(sorted(FORMS)), st.sampled_from(["stop", "length"]))
def test_hostile_text_reads_alike_in_every_split(text, name, finish_reason):
    opener = FRAMES[name][0]
    for output in (text, f"{opener}f(a={text}", f"{opener}f({text}"):
        whole = PARSERS[name].parse(output, tools=TOOLS, finish_reason=finish_reason)
        for size in (1, 3):
            stream = PARSERS[name].stream(tools=TOOLS)
            for at in range(0, len(output), size):
                stream.feed(output[at : at + size])
            stream.finish(finish_reason)
            assert summary(stream.message) == summary(whole), output


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("no name", "{}"),
        ("f(", "{}"),
        ("", "{}"),
        ("f", "[1]"),
        ("f", "{"),
        ("f", '{"a b": 1}'),
        ("f", '{"": 1}'),
        ("f", '{"a=": 1}'),
        ("get_weather", '{"days": "3"}'),
        ("get_weather", '{"place": {"lat": "1.5"}}'),
    ],
)
def test_what_cannot_be_written_is_refused(name, arguments):
    with pytest.raises(RenderError):
        PARSERS["pythonic"].render([Call("", name, arguments)], tools=TOOLS)


def test_the_canonical_spelling():
    call = Call("", "f", '{"a":"x\\n\\"","b":[true,null],"c":{"d":1.50},"e":"\\u00e9"}')

    assert PARSERS["pythonic"].render([call]) == '[f(a="x\\n\\"", b=[True, None], c={"d": 1.50}, e="é")]'
    assert PARSERS["olmo3"].render([call]) == (
        '<function_calls>\nf(a="x\\n\\"", b=[true, null], c={"d": 1.50}, e="é")\n</function_calls>'
    )


def test_varied_spellings_differ():
    call = Call("", "f", '{"a": "it\'s \\"so\\"", "b": [1, true, null], "c": {"1": 2.0}}')
    texts = {PARSERS["pythonic"].render([call], vary=seed) for seed in range(60)}

    assert len(texts) > 50
    for piece in ("'''", '"""', "(", "{1", "None", "null", "\\x", "\\N{", "f'", 'f"', "0x1", "2.,", ", "):
        assert any(piece in text for text in texts), piece


# cost


@pytest.mark.parametrize(
    "flood",
    ["[", "[f(a=[", "{", "'", "\\", "' ", "1", "a", " ", ", b=1", "(),", "\\N{", "{{"],
)
def test_time_is_linear(flood):
    def cost(length: int) -> float:
        text = "[f(a='x', b=" + (flood * length)[:length]
        stream = PARSERS["pythonic"].stream(tools=TOOLS)
        began = time.process_time()
        for char in text:
            stream.feed(char)
        stream.finish()
        return time.process_time() - began

    assert min(cost(8_000) for _ in range(2)) < 8 * max(cost(2_000) for _ in range(2)) + 0.05


def test_nesting_needs_no_recursion():
    depth = 20_000
    message = PARSERS["pythonic"].parse(f"[f(a={'[' * depth}{']' * depth})]", tools=TOOLS)

    assert message.tool_calls[0].arguments == f'{{"a": {"[" * depth}{"]" * depth}}}'
