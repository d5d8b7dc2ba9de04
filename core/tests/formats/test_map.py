"""Arguments as a map with a marker for a quote: what is read, what breaks, what is written."""

from __future__ import annotations

import json
import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolglot import Call, Parser
from toolglot.errors import RenderError
from toolglot.formats import Calls, Frame, HeadedCall, Map, Reasoning, WireFormat, WireFormatParser
from toolglot.testing.reading import in_every_split

FORMS = {
    "functiongemma": WireFormat(
        (
            Calls(
                HeadedCall(("call:{name}",), Map("<escape>", "all")),
                call=Frame(("<start_function_call>",), ("<end_function_call>",)),
            ),
        )
    ),
    "gemma4": WireFormat(
        (
            Calls(
                HeadedCall(("call:{name}", ":{name}"), Map('<|"|>')), call=Frame(("<|tool_call>",), ("<tool_call|>",))
            ),
        ),
        Reasoning(Frame(("<|channel>thought\n",), ("<channel|>",))),
    ),
}
PARSERS = {name: Parser(name, WireFormatParser(form)) for name, form in FORMS.items()}
GEMMA = PARSERS["gemma4"]
FRAMES = {
    "functiongemma": ("<start_function_call>", "<end_function_call>"),
    "gemma4": ("<|tool_call>", "<tool_call|>"),
}
PROPERTIES = {
    "city": {"type": "string"},
    "days": {"type": "integer"},
    "limit": {"type": ["integer", "null"]},
    "either": {"type": ["string", "number"]},
    "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    "tags": {"type": "array", "items": {"type": "string"}},
    "place": {"$ref": "#/$defs/place"},
    "on": {"type": "boolean"},
}
PLACE = {"type": "object", "properties": {"lat": {"type": "number"}, "name": {"type": "string"}}}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {"type": "object", "properties": PROPERTIES, "$defs": {"place": PLACE}},
        },
    },
    {"type": "function", "function": {"name": "f"}},
]
IDS = {
    text: number for number, text in enumerate(('<|"|>', "<|tool_call>", "<tool_call|>", "<|channel>", "<channel|>"))
}


def summary(message):
    calls = [(call.name, call.arguments, call.outcome, call.repairs, call.rest) for call in message.tool_calls]
    return message.content, message.reasoning, calls, message.unparsed


def read(parser, text, **context):
    return in_every_split(parser, text, **{"tools": TOOLS, **context})


def framed(name: str, inside: str) -> str:
    """The text of a call; ``@`` is the quote."""
    opener, closer = FRAMES[name]
    return opener + inside.replace("@", '<|"|>' if name == "gemma4" else "<escape>") + closer


def arguments_of(name: str, inside: str) -> str:
    message = read(PARSERS[name], framed(name, inside))
    (call,) = message.tool_calls
    assert (call.outcome, call.repairs, call.rest, message.content) == ("ok", (), "", None), summary(message)
    return call.arguments


# what real models write: the strings of the reference


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("gemma4", ("call:get_weather{city:@Paris@,days:3}", "call:f{tz:@CET@,h24:true}")),
        (
            "functiongemma",
            ("call:get_weather{city:@Paris@,days:@3@}", "call:get_weather{place:@{'lat': 1}@,on:@True@}"),
        ),
    ],
)
def test_two_calls_as_models_write_them(name, texts):
    message = read(PARSERS[name], "".join(framed(name, text) for text in texts))

    assert [(call.arguments, call.outcome) for call in message.tool_calls] == [
        ('{"city": "Paris", "days": 3}', "ok"),
        ('{"tz": "CET", "h24": true}' if name == "gemma4" else '{"place": {"lat": 1}, "on": true}', "ok"),
    ]
    assert message.content is None


@pytest.mark.parametrize(
    ("inside", "json_text"),
    [
        ("call:f{}", "{}"),
        ("call:f{ }", "{}"),
        (":f{a:@x@}", '{"a": "x"}'),
        ("call:f(a:@x@)", '{"a": "x"}'),
        ("call:f{ a : @x@ , b : 1 }", '{"a": "x", "b": 1}'),
        ("call:f{a:1,}", '{"a": 1}'),
        ("call:f{\"a\":@x@,'b':2,@c@:3}", '{"a": "x", "b": 2, "c": 3}'),
        ("call:f{a:@a}b],c{@}", '{"a": "a}b],c{"}'),
        ("call:f{a:@\"q\" \\n 'é'\n@}", '{"a": "\\"q\\" \\\\n \'é\'\\n"}'),
        ('call:f{a:["x","y\\n"],o:{"m": "fast"}}', '{"a": ["x", "y\\n"], "o": {"m": "fast"}}'),
        ("call:f{a:[],o:{},l:[[1],{b:[@x@]}]}", '{"a": [], "o": {}, "l": [[1], {"b": ["x"]}]}'),
        ("call:f{a:null,b:None,c:True,d:-1.5e3,e:.5}", '{"a": null, "b": null, "c": true, "d": -1.5e3, "e": 0.5}'),
        ("call:f{a:two words,b:[x, y]}", '{"a": "two words", "b": ["x", "y"]}'),
        ("call:f{first name:1,größe:2}", '{"first name": 1, "größe": 2}'),
        ("call:f{a:@@}", '{"a": ""}'),
        ("call:f{a:{b:1,b:2}}", '{"a": {"b": 1, "b": 2}}'),
    ],
)
@pytest.mark.parametrize("name", FORMS)
def test_maps(name, inside, json_text):
    head = "call" if inside.startswith(":") and name == "functiongemma" else ""  # Gemma 4's shorter header
    assert arguments_of(name, head + inside) == json_text


@pytest.mark.parametrize(
    ("inside", "json_text"),
    [
        ("city:Oslo", '{"city": "Oslo"}'),
        ("city:501", '{"city": "501"}'),
        ("city:null", '{"city": "null"}'),
        ("maybe:null", '{"maybe": null}'),
        ("maybe:@null@", '{"maybe": "null"}'),
        ("days:007", '{"days": 7}'),
        ("days:soon", '{"days": "soon"}'),
        ("limit:None", '{"limit": null}'),
        ("either:1.5", '{"either": 1.5}'),
        ("either:x", '{"either": "x"}'),
        ("place:{lat:1,name:2}", '{"place": {"lat": 1, "name": "2"}}'),
        ("tags:[1,true,x]", '{"tags": ["1", "true", "x"]}'),
        ("on:True", '{"on": true}'),
        ("days:@3@", '{"days": "3"}'),
    ],
)
def test_values_without_quotes_are_typed_by_the_schema(inside, json_text):
    message = read(GEMMA, framed("gemma4", f"call:get_weather{{{inside}}}"))

    assert message.tool_calls[0].arguments == json_text


@pytest.mark.parametrize(
    ("inside", "json_text"),
    [
        ("city:@3@", '{"city": "3"}'),
        ("days:@3@", '{"days": 3}'),
        ("limit:@None@", '{"limit": null}'),
        ("either:@1@", '{"either": 1}'),
        ("either:@one@", '{"either": "one"}'),
        ("tags:@['a', 'b']@", '{"tags": ["a", "b"]}'),
        ('tags:@["a"]@', '{"tags": ["a"]}'),
        ("tags:[@a@,@b@]", '{"tags": ["a", "b"]}'),
        ("place:{lat:@1.5@,name:@2@}", '{"place": {"lat": 1.5, "name": "2"}}'),
        ("days:5,city:@a@", '{"days": 5, "city": "a"}'),
        ("unknown:@5@", '{"unknown": "5"}'),
        ("unknown:5", '{"unknown": 5}'),
    ],
)
def test_all_values_in_quotes_are_typed_by_the_schema(inside, json_text):
    message = read(PARSERS["functiongemma"], framed("functiongemma", f"call:get_weather{{{inside}}}"))

    assert message.tool_calls[0].arguments == json_text


@pytest.mark.parametrize(
    ("name", "inside", "value"),
    [
        ("gemma4", "q(@@@SELECT 1@@@)", 'q("""SELECT 1""")'),
        ("gemma4", "a@ b", 'a" b'),
        ("gemma4", "x@]", 'x"]'),
        ("functiongemma", "a@b", "a<escape>b"),
    ],
)
def test_a_quote_behind_which_the_map_cannot_go_on_is_text(name, inside, value):
    assert json.loads(arguments_of(name, f"call:f{{code:@{inside}@,refs:[@df@]}}")) == {"code": value, "refs": ["df"]}


def test_a_string_streams_as_it_comes():
    stream = GEMMA.stream(tools=TOOLS)
    stream.feed('<|tool_call>call:f{a:<|"|>Os')
    assert stream.message.tool_calls[0].arguments == '{"a": "Os'
    stream.feed("lo <")
    assert stream.message.tool_calls[0].arguments == '{"a": "Oslo '
    stream.feed('|"|>, n:')
    assert stream.message.tool_calls[0].arguments == '{"a": "Oslo "'
    stream.feed("12")
    stream.feed("}")
    assert stream.message.tool_calls[0].arguments == '{"a": "Oslo ", "n": 12}'


def test_markers_that_are_tokens():
    parser = Parser("gemma4", WireFormatParser(FORMS["gemma4"]).configured(IDS))
    pieces = [
        ("<|tool_call>", 1), ("call:f{a:", None), ('<|"|>', 0), ('it says <|"|>,b:1} or', None), ("<tool_call|>", 2),
        ('<|"|>', 0), ("!", None), ('<|"|>', 0), (",n:", None), ("42}", None), ("<tool_call|>", 2),
    ]  # fmt: skip
    stream = parser.stream(tools=TOOLS)
    for text, number in pieces:
        stream.feed(text, token_ids=(99 if number is None else number,))
    stream.finish()

    (call,) = stream.message.tool_calls
    assert json.loads(call.arguments) == {"a": 'it says <|"|>,b:1} or<tool_call|>"!', "n": 42}
    assert (call.outcome, stream.message.content) == ("ok", None)


# calls that break


@pytest.mark.parametrize(
    ("inside", "arguments", "content"),
    [
        ("call:f{a:}", None, "<|tool_call>call:f{a:}<tool_call|>"),
        ("call:f{:1}", None, "<|tool_call>call:f{:1}<tool_call|>"),
        ("call:f{1}", None, "<|tool_call>call:f{1}<tool_call|>"),
        ("call:f{a}", None, "<|tool_call>call:f{a}<tool_call|>"),
        ("call:f{a:1,b}", '{"a": 1', ",b}<tool_call|>"),
        ("call:f{a:[1},b:2}", '{"a": [1', "},b:2}<tool_call|>"),
        ("call:f{a:1", '{"a": 1', None),
        ("call:f{a:@x@", '{"a": "x"', None),
        ("call:f{a:@x@,b", '{"a": "x"', None),
        ("call:f{a:1,a:2}", '{"a": 1, "a": 2}', None),
    ],
)
def test_what_breaks(inside, arguments, content):
    message = read(GEMMA, framed("gemma4", inside))

    assert message.content == content
    found = [(call.arguments, call.outcome) for call in message.tool_calls]
    assert found == ([] if arguments is None else [(arguments, "malformed")])


def test_a_call_that_breaks_at_its_closer_keeps_what_was_tried():
    assert read(GEMMA, framed("gemma4", "call:f{a:1,b")).tool_calls[0].rest == ",b"


def test_a_marker_token_in_the_name_of_a_character_is_text():
    parser = Parser("gemma4", WireFormatParser(FORMS["gemma4"]).configured(IDS))
    text = '<|tool_call>call:f{a:"\\N{VERTICAL<|channel>LINE}"}<tool_call|>'
    marks = [(text.index(token), IDS[token]) for token in ("<|tool_call>", "<|channel>", "<tool_call|>")]
    stream = parser.stream(tools=TOOLS)
    stream.feed(text, (1,), marks)
    stream.finish()

    (call,) = stream.message.tool_calls
    assert json.loads(call.arguments) == {"a": "\\N{VERTICAL<|channel>LINE}"}


def test_a_key_that_could_end_the_map_is_quoted():
    call = Call("", "f", '{")a": 1}')

    for seed in range(20):
        (got,) = GEMMA.parse(GEMMA.render([call], vary=seed), tools=TOOLS).tool_calls
        assert (got.arguments, got.outcome) == (call.arguments, "ok")


@pytest.mark.parametrize("space", ["", " "])
def test_a_call_without_arguments_is_repaired(space):
    call = read(GEMMA, f"<|tool_call>call:f{space}<tool_call|>").tool_calls[0]

    assert (call.name, call.arguments, call.repairs) == ("f", "{}", ("missing_arguments",))


@pytest.mark.parametrize(
    ("text", "arguments", "rest"),
    [
        ("call:f{", "", "{"),
        ("call:f{a", "", "{a"),
        ("call:f{a:12", "", "{a:12"),
        ("call:f{a:@x", '{"a": "x', ""),
        ('call:f{a:@x<|"', '{"a": "x', '<|"'),
        ("call:f{a:@x@", '{"a": "x', '<|"|>'),
        ("call:f{a:@x@ <tool", '{"a": "x', '<|"|> <tool'),
        ("call:f{<", "", "{<"),
        ("call:f{a:<|", "", "{a:<|"),
        ("call:f{a:@x@,b:", '{"a": "x"', ",b:"),
        ("call:f{a:[@x@,{", '{"a": ["x"', ",{"),
    ],
)
def test_a_call_that_is_cut(text, arguments, rest):
    message = read(GEMMA, framed("gemma4", text).removesuffix("<tool_call|>"), finish_reason="length")

    (call,) = message.tool_calls
    assert (call.arguments, call.rest, call.outcome) == (arguments, rest, "truncated")


def test_whitespace_behind_a_quote_is_looked_through_so_far():
    for spaces, value in ((512, "x"), (513, f'x"{" " * 513},b')):
        text = framed("gemma4", f"call:f{{a:@x@{' ' * spaces},b@}}")
        whole = GEMMA.parse(text, tools=TOOLS)
        for size in (1, 511, 512, 513, 514):
            stream = GEMMA.stream(tools=TOOLS)
            for at in range(0, len(text), size):
                stream.feed(text[at : at + size])
            stream.finish()
            assert summary(stream.message) == summary(whole)
        assert whole.tool_calls[0].arguments.startswith('{"a": "x"' if value == "x" else '{"a": "x\\"  ')


# writing


KEYS = st.sampled_from(["a", "from", "first name", "a:b", "größe", "", " x", '"', "{", "<escape>", '<|"|>'])
PIECES = st.sampled_from(
    ["'", '"', "\\", "{", "}", "[", "]", "(", ")", ",", ":", "\n", "\r\n", "\t", "<", "|", ">", "é", "<|tool_call>",
     "<tool_call|>", '<|"|>', '<|"|>,', "<escape>", "<escape>}", "<escape", '<|"', "None", "12", "\x00", "🚀"]
)  # fmt: skip
TEXTS = st.lists(st.one_of(PIECES, st.text(max_size=4)), max_size=8).map("".join)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=8,
)
TYPED = st.fixed_dictionaries(
    {},
    optional={
        "city": TEXTS,
        "days": st.integers(),
        "limit": st.none() | st.integers(),
        "either": st.floats(allow_nan=False, allow_infinity=False) | st.just("x, y"),
        "maybe": st.none() | st.just("never mind"),
        "tags": st.lists(TEXTS),
        "place": st.fixed_dictionaries({}, optional={"lat": st.floats(0, 90), "name": TEXTS}),
        "on": st.booleans(),
    },
)
CALLS = st.lists(
    st.one_of(
        st.tuples(st.just("f"), st.dictionaries(KEYS, VALUES, max_size=4)), st.tuples(st.just("get_weather"), TYPED)
    ),
    min_size=1,
    max_size=3,
)


@pytest.mark.parametrize("name", FORMS)
@settings(max_examples=60, deadline=None, derandomize=True)
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
    assert json.dumps(found, sort_keys=True) == json.dumps(calls, sort_keys=True)
    assert all(call.outcome == "ok" and not call.repairs for call in message.tool_calls)
    assert message.content is None
    assert summary(stream.message) == summary(message)


HOSTILE = st.lists(
    st.sampled_from(
        ["{", "}", "[", "]", "(", ")", ",", ":", "a", "1", '"', "'", "\\", " ", "\n", "<", '<|"|>', '<|"', "<escape>",
         "call:f", "<|tool_call>", "<tool_call|>", "<start_function_call>", "<end_function_call>", "None", "\ud800"]
    ),
    max_size=24,
).map("".join)  # fmt: skip


@settings(max_examples=120, deadline=None, derandomize=True)
@given(HOSTILE, st.sampled_from(sorted(FORMS)), st.sampled_from(["stop", "length"]))
def test_hostile_text_reads_alike_in_every_split(text, name, finish_reason):
    opener = FRAMES[name][0]
    for output in (text, f"{opener}call:f{{{text}", f"{opener}call:f{{a:{text}", f"{opener}call{text}"):
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
        *((name, text) for name in FORMS for text in ('{"city": 3}', '{"city": null}', "[1]", "{")),
        ("functiongemma", '{"days": "3"}'),
    ],
)
def test_what_cannot_be_written_is_refused(name, arguments):
    with pytest.raises(RenderError):
        PARSERS[name].render([Call("", "get_weather", arguments)], tools=TOOLS)


def test_the_canonical_spelling():
    call = Call("", "get_weather", '{"city":"a \\"b\\"","days":3,"limit":null,"tags":["x"],"place":{"lat":1.50},"n":2}')

    assert GEMMA.render([call], tools=TOOLS) == framed(
        "gemma4", 'call:get_weather{city:@a "b"@,days:3,limit:null,tags:[@x@],place:{lat:1.50},n:2}'
    )
    assert PARSERS["functiongemma"].render([call], tools=TOOLS) == framed(
        "functiongemma",
        'call:get_weather{city:@a "b"@,days:@3@,limit:@null@,tags:@["x"]@,place:@{"lat": 1.50}@,n:2}',
    )


def test_a_string_that_holds_the_quote_is_written_in_ordinary_quotes():
    assert GEMMA.render([Call("", "f", json.dumps({"a": 'x<|"|>,'}))]) == framed("gemma4", 'call:f{a:"x<|\\"|>,"}')


# cost


@pytest.mark.parametrize("flood", ["{a:", "[", "@", "@ ", "<", " ", "a:1,", "'", "\\", "[@", "x"])
def test_time_is_linear(flood):
    def cost(length: int) -> float:
        text = framed("gemma4", "call:f{b:@x@,a:" + (flood * length)[:length]).removesuffix("<tool_call|>")
        stream = GEMMA.stream(tools=TOOLS)
        began = time.process_time()
        for char in text:
            stream.feed(char)
        stream.finish()
        return time.process_time() - began

    assert min(cost(8_000) for _ in range(2)) < 8 * max(cost(2_000) for _ in range(2)) + 0.05


def test_nesting_needs_no_recursion():
    depth = 20_000
    message = GEMMA.parse(framed("gemma4", f"call:f{{a:{'[' * depth}{']' * depth}}}"), tools=TOOLS)

    assert message.tool_calls[0].arguments == f'{{"a": {"[" * depth}{"]" * depth}}}'
