"""What the grammar of JSON text admits: what is JSON and of the schema, and nothing else."""

from __future__ import annotations

import json
from decimal import Decimal
from functools import cache
from itertools import chain, combinations
from random import Random

import numpy as np
import pytest
import xgrammar
from hypothesis import example, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from toolglot.errors import GrammarError
from toolglot.formats.ebnf import Rules
from toolglot.formats.json_grammar import json_value
from toolglot.schemas import normalise
from toolglot.schemas.admission import admits
from toolglot.schemas.language import literals, pattern
from toolglot.schemas.normal import (
    Anything,
    Array,
    Bound,
    Constants,
    Normal,
    Number,
    Object,
    Others,
    Property,
    Reference,
    String,
    Union,
)

STOP = 256
LIMIT = 400
"""Bytes from which on a sample is ended as soon as it may be."""
INTEGER, STRING, ANY = Number(integer=True), String(), Anything()
TREE = Normal(
    Reference("tree"),
    {"tree": Object((Property("value", INTEGER, required=True), Property("kids", Array((), Reference("tree")))))},
)
HUGE = 10**300
NOT_UNIQUE = ("other members", "named members", "any value")
"""Where a name may come twice: no grammar tells whether one of any number was there before."""


@cache
def compiler():
    vocabulary = [bytes([byte]) for byte in range(256)] + [b"\xff<stop>"]
    info = xgrammar.TokenizerInfo(vocabulary, xgrammar.VocabType.RAW, vocab_size=STOP + 1, stop_token_ids=[STOP])
    return xgrammar.GrammarCompiler(info, max_threads=1, enable_dynamic_compilation=True)


def compiled(node, excludes=(), **options):
    normal = node if isinstance(node, Normal) else Normal(node)
    return compiler().compile_grammar(json_value(normal, excludes, **options).grammar)


def accepts(grammar, text):
    matcher = xgrammar.GrammarMatcher(grammar)
    return all(matcher.accept_token(byte) for byte in text.encode()) and matcher.is_completed()


def sample(grammar, seed):
    """A text that the grammar admits: any byte that may come next, but haste at the end; None where it has none."""
    random, matcher, found = Random(seed), xgrammar.GrammarMatcher(grammar), bytearray()
    mask = xgrammar.allocate_token_bitmask(1, STOP + 1)
    while len(found) < 3 * LIMIT:
        matcher.fill_next_token_bitmask(mask)
        allowed = np.flatnonzero(np.unpackbits(mask.numpy().view(np.uint8), bitorder="little")[: STOP + 1])
        if STOP in allowed and random.random() < 0.5:
            return found.decode()
        bytes_ = [int(one) for one in allowed if one != STOP]
        if not bytes_:
            return found.decode()
        hasty = [one for one in bytes_ if one in b'"}]0'] if len(found) > LIMIT or random.random() < 0.2 else []
        found.append(random.choice(hasty or bytes_))
        assert matcher.accept_token(found[-1])
    return None


def samples(grammar, count=25):
    return [text for text in (sample(grammar, seed) for seed in range(count)) if text is not None]


def decoded(text):
    """The value of a strict JSON text whose objects have no key twice."""

    def unique(pairs):
        assert len(dict(pairs)) == len(pairs), text
        return dict(pairs)

    value = json.loads(text, object_pairs_hook=unique)
    json.dumps(value, ensure_ascii=False).encode()  # no half of a surrogate pair
    return value


def bound(value, exclusive=False):
    return Bound(Decimal(str(value)), exclusive)


def obj(*properties, others=(), least=0, most=None):
    return Object(
        tuple(Property(name.rstrip("!"), node, name.endswith("!")) for name, node in properties), others, least, most
    )


ADMITTED = {
    "a string": (STRING, ["", 'é東京🚀"\\\n', "\x7f"], [1, None, ["a"]]),
    "two to five characters": (String(2, 5), ["ab", "é東京🚀", "\n\n\n\n\n", 'a"\\b'], ["", "a", "abcdef", "\n" * 6]),
    "a long string": (String(1, 1000), ["a", "é" * 1000, "line\n" * 16], ["", "a" * 1001]),
    "a character at least": (String(1), ["a", "\n", "many more"], [""]),
    "ten characters at least": (String(10), ["0123456789", "a" * 50 + "\n" * 5], ["", "012345678", "\n" * 5]),
    "a pattern": (String(language=pattern('^a"[x\\\\]+$')), ['a"x', 'a"\\\\x'], ["a", 'a"', "ax"]),
    "integers": (INTEGER, [0, -1, 10**17], [1.5, "1", True]),
    "a range": (Number(True, bound(-5), bound(120)), [-5, 0, 7, 99, 120], [-6, 121, 1000]),
    "64 bits": (Number(True, bound(-(2**63)), bound(2**63 - 1)), [-(2**63), 2**63 - 1], [-(2**63) - 1, 2**63]),
    "above": (Number(True, bound(10**25)), [10**25, 3 * 10**25], [10**25 - 1, 0, -(10**25)]),
    "below": (Number(True, None, bound(-3)), [-3, -40], [-2, 0, 3]),
    "sevens": (Number(True, None, None, 7), [0, 7, -14, 7 * 123456789], [1, -1, 8, 7 * 123456789 + 1]),
    "fives in a range": (Number(True, bound(12), bound(1000), 5), [15, 100, 995, 1000], [10, 12, 1005, 17]),
    "many of a large number": (Number(True, bound(0), bound(10**7), 997), [0, 997, 997 * 10030], [998, 997 * 10031]),
    "numbers": (Number(), [0, -1.5, 1e20, 1e-7], ["1", None]),
    "a share": (Number(False, bound(0), bound(1)), [0, 0.5, 1, 0.001], [-0.1, 1.01, 2]),
    "open ends": (Number(False, bound(0.25, True), bound(2, True)), [0.26, 1, 1.99], [0.25, 2, 0.2, 2.5]),
    "degrees": (Number(False, bound(-90), bound("90.5")), [-90, -45.123, 0, 90.5], [-90.1, 90.6, 100, -180]),
    "above zero": (Number(False, bound(0, True)), [0.5, 10**12], [0, -1]),
    "far apart": (Number(False, bound(-5), bound(HUGE)), [-5, 0.5, 10**19], [-5.5, -10]),
    "constants": (
        Constants((None, True, "é\n", {"a": [1]}, 0.5)),
        [None, True, "é\n", {"a": [1]}, 0.5],
        [False, "é", {}],
    ),
    "any value": (ANY, [None, [], {}, {"a": [1, {"b": "c"}]}, -1.5], []),
    "some items": (Array((), INTEGER, 1, 3), [[1], [1, 2, 3]], [[], [1, 2, 3, 4], ["a"]]),
    "items of their own": (
        Array((INTEGER, STRING), Number(), 1, 4),
        [[1], [1, "a"], [1, "a", 0.5, 2]],
        [[], ["a"], [1, 2]],
    ),
    "a tuple": (Array((INTEGER, STRING), None, 2), [[1, "a"]], [[], [1], [1, "a", 2]]),
    "members": (
        obj(("a!", STRING), ("b", INTEGER), ("c!", Constants((True, None)))),
        [{"a": "x", "c": None}, {"a": "", "b": 1, "c": True}],
        [{}, {"a": "x"}, {"a": 1, "c": None}, {"a": "x", "c": None, "d": 1}],
    ),
    "optional members": (
        obj(("a", INTEGER), ("b", INTEGER), ("c", INTEGER)),
        [{}, {"a": 1}, {"c": 1}, {"a": 1, "c": 2}, {"a": 1, "b": 1, "c": 1}],
        [{"d": 1}, {"a": "x"}],
    ),
    "two of three": (
        obj(("a", INTEGER), ("b", INTEGER), ("c", INTEGER), least=2, most=2),
        [{"a": 1, "b": 1}, {"a": 1, "c": 1}, {"b": 1, "c": 1}],
        [{}, {"a": 1}, {"a": 1, "b": 1, "c": 1}],
    ),
    "other members": (
        obj(("a", INTEGER), others=(Others(STRING),)),
        [{}, {"a": 1}, {"a": 1, "b": "x"}, {"ab": "x"}, {"": ""}, {"é\n": "x"}],
        [{"a": "x"}, {"b": 1}],
    ),
    "named members": (
        obj(others=(Others(INTEGER, literals(("x", "yy"))),), most=2),
        [{}, {"x": 1}, {"x": 1, "yy": 2}],
        [{"y": 1}, {"z": 1}],
    ),
    "one of several": (
        Union((String(1, 1), INTEGER, obj(("k!", Constants(("a",)))))),
        ["a", 5, {"k": "a"}],
        ["", "ab", {}, {"k": "b"}],
    ),
    "a tree": (
        TREE,
        [{"value": 1}, {"value": 1, "kids": [{"value": 2, "kids": []}]}],
        [{}, {"value": 1, "kids": [{}]}],
    ),
}


@pytest.mark.parametrize("name", ADMITTED)
def test_the_values_of_a_schema_are_admitted_and_no_others(name):
    node, fitting, others = ADMITTED[name]
    grammar = compiled(node)

    for value in fitting:
        assert accepts(grammar, json.dumps(value, ensure_ascii=False)), value
        assert accepts(grammar, json.dumps(value, ensure_ascii=False, separators=(",", ":"))), value
    for value in others:
        assert not accepts(grammar, json.dumps(value, ensure_ascii=False)), value


@pytest.mark.parametrize("name", [name for name in ADMITTED if name not in NOT_UNIQUE])
def test_whatever_is_admitted_is_json_that_the_schema_admits(name):
    node = ADMITTED[name][0]
    normal = node if isinstance(node, Normal) else Normal(node)
    found = samples(compiled(node))

    assert len(found) > 10
    for text in found:
        assert admits(normal, decoded(text)), text


@pytest.mark.parametrize("text", ['"\t"', '"\n"', '"\\x"', '"\\ud800"', '"\\udc00"', '"a', "'a'", '"\\u00g0"'])
def test_what_is_no_json_string_is_refused(text):
    assert not accepts(compiled(STRING), text)
    assert not accepts(compiled(ANY), text)


def test_an_escape_is_one_character():
    assert accepts(compiled(STRING), '"\\u00e9\\/\\uD7ff"')
    assert accepts(compiled(String(2, 2)), '"\\u00e9\\n"')
    assert not accepts(compiled(String(2, 2)), '"\\u00e9"')
    assert not accepts(compiled(String(1, 3)), '"\\n\\n\\n\\n"')


def test_half_a_surrogate_pair_is_refused_as_bytes_too():
    matcher = xgrammar.GrammarMatcher(compiled(STRING))

    assert matcher.accept_token(ord('"'))
    assert not all(matcher.accept_token(byte) for byte in b"\xed\xa0\x80")


@pytest.mark.parametrize("text", ["00", "01", "+1", "1.", ".5", "1e", "1e400", "9" * 19, "-", "NaN", "1e999"])
def test_what_is_no_number_or_none_of_a_double_is_refused(text):
    assert not accepts(compiled(Number()), text)


def test_an_open_bound_is_not_reached_by_rounding():
    grammar = compiled(Number(False, bound(0, True), bound(1, True)))

    assert accepts(grammar, "0.9999999999")
    assert not accepts(grammar, "0." + "9" * 17)
    assert all(0 < json.loads(text) < 1 for text in samples(grammar, 60))


def test_whitespace_is_bounded_and_stands_where_json_has_it():
    grammar = compiled(obj(("a!", Array((), INTEGER)), ("b", INTEGER)))

    assert accepts(grammar, '{ \n"a": [ 1,  2 ],\n "b":1 }')
    assert not accepts(grammar, '{   "a":[]}')
    assert not accepts(grammar, ' {"a":[]}')


def test_members_come_in_the_order_of_the_schema_and_once():
    grammar = compiled(obj(("a", INTEGER), ("b", INTEGER), others=(Others(INTEGER),)))

    assert accepts(grammar, '{"a":1,"b":2,"c":3}')
    assert not accepts(grammar, '{"b":2,"a":1}')
    assert not accepts(grammar, '{"a":1,"a":1}')
    assert not accepts(grammar, '{"\\u0061":1}')
    assert not accepts(grammar, '{"c":1,"a":1}')


def test_members_may_come_in_any_order_where_that_is_asked_for():
    grammar = compiled(obj(("a!", INTEGER), ("b", STRING)), any_order=True)

    assert accepts(grammar, '{"b":"x","a":1}')
    assert accepts(grammar, '{"a":1}')
    assert not accepts(grammar, "{}")
    assert not accepts(grammar, '{"a":1,"b":"x","a":1}')
    assert not accepts(grammar, '{"b":1,"a":1}')


EXCLUDED = {
    "a closer": (("</parameter>",), ["a < b << c", "</param", "<</par", "</x>", "</parameter", "<parameter>"]),
    "a marker that begins again": (("]<]mark[>[<",), ["a[0] < b", "] <", "x]"]),
    "two": (("</param>", "<![CDATA["), ["<p>", "<!", "</p", "<![CDATA"]),
    "one character": (("<",), ["a > b"]),
    "with a quote": (('<|"|>',), ["<|", '<|"', "|>"]),
}


@pytest.mark.parametrize("name", EXCLUDED)
def test_excluded_text_is_in_no_string_as_it_is_written(name):
    excludes, texts = EXCLUDED[name]
    plain = compiled(STRING, excludes)

    for text in texts:
        assert accepts(plain, json.dumps(text)), text
    for one in excludes:
        spelled = json.dumps(f"some text{one}b")
        escaped = spelled.replace(one[0], f"\\u{ord(one[0]):04x}")
        for node in (STRING, String(1), String(0, 100), String(0, 1000), String(6), ANY):
            grammar = compiled(node, excludes)
            assert accepts(grammar, spelled) == (one not in spelled)
            assert accepts(grammar, escaped), node


@pytest.mark.parametrize("name", EXCLUDED)
def test_excluded_text_can_be_a_constant_or_a_key(name):
    excludes, _ = EXCLUDED[name]
    word = "".join(excludes)
    node = obj((f"{word}!", Constants((word,))), others=(Others(String(language=pattern("<"))),))
    found = samples(compiled(node, excludes))

    assert found
    for text in found:
        assert not any(one in text for one in excludes)
        assert json.loads(text)[word] == word


@pytest.mark.parametrize("text", ["]", "}, ", '"', '": "', "\\u003c", "null"])
def test_text_that_json_cannot_do_without_is_refused(text):
    with pytest.raises(GrammarError, match="cannot be kept out of JSON"):
        json_value(Normal(STRING), (text,))


def test_a_schema_that_admits_nothing_is_refused():
    with pytest.raises(GrammarError, match="admits nothing"):
        json_value(Normal(obj(("a!", Constants(())))))


@pytest.mark.parametrize(
    "schema",
    [
        {"patternProperties": {"^$": True}, "required": [""]},
        {"patternProperties": {"^$": True}, "properties": {"": True}},
        {"properties": {"a": True}, "patternProperties": {"^.$": True, "[^a]": True}},
        {"patternProperties": {"[^a]": True}, "required": ["a"], "propertyNames": {"pattern": "^.$"}},
    ],
    ids=str,
)
def test_a_pattern_all_of_whose_names_are_declared_has_no_other_members(schema):
    normal = normalise({"type": "object", **schema}).normal
    found = samples(compiled(normal))

    assert found
    for text in found:
        assert admits(normal, json.loads(text)), text


NAMED = ["", "a", "b", "ab"]
NAME_PATTERNS = ["^$", "^.$", "[^a]", "^a", "b$", "^(a|b)$", "^a?$"]


@settings(max_examples=60, deadline=None)
@example({"patternProperties": {"^$": True}, "required": [""], "minProperties": 3}, 0)
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(st.sampled_from(NAMED), st.booleans(), max_size=3),
            "patternProperties": st.dictionaries(st.sampled_from(NAME_PATTERNS), st.booleans(), max_size=2),
            "additionalProperties": st.booleans(),
            "required": st.lists(st.sampled_from(NAMED), max_size=2, unique=True),
            "propertyNames": st.builds(lambda one: {"pattern": one}, st.sampled_from(NAME_PATTERNS)),
            "minProperties": st.integers(0, 4),
            "maxProperties": st.integers(0, 4),
        },
    ),
    st.integers(),
)
def test_whatever_names_a_schema_speaks_of_what_is_admitted_is_of_it(keywords, seed):
    valid = Draft202012Validator({"type": "object", **keywords}).is_valid
    try:
        found = normalise({"type": "object", **keywords})
        text = sample(compiled(found.normal), seed)
    except GrammarError:
        chosen = [combinations([*NAMED, "c", "z"], size) for size in range(5)]
        assert not any(valid(dict.fromkeys(names)) for names in chain(*chosen))
        return

    pairs = json.loads(text, object_pairs_hook=lambda pairs: pairs) if text else []
    if not found.relaxed and text and len(dict(pairs)) == len(pairs):
        assert valid(json.loads(text)), text


@pytest.mark.parametrize(
    ("schema", "fitting", "others"),
    [
        ({"minProperties": 2}, [{"city": 1, "unit": 2}, {"a": 1, "z": 2, "b": 3}], [{"a": 1}]),
        ({"minProperties": 3}, [{"a": 1, "k": 2, "z": 3}], [{"a": 1, "z": 2}]),
        (
            {"properties": {"a": {"type": "string"}}, "minProperties": 3, "additionalProperties": True},
            [{"a": "x", "b": 1, "z": 2}],
            [{"a": "x", "b": 1}, {"b": 1, "z": 2}],
        ),
        (
            {"patternProperties": {"^x_": {"type": "null"}}, "minProperties": 2, "additionalProperties": False},
            [{"x_a": None, "x_z": None}],
            [{"x_a": None}, {"a": None, "z": None}],
        ),
        (
            {"patternProperties": {"^[0-9]+$": {"type": "null"}}, "minProperties": 2, "additionalProperties": False},
            [{"0": None, "17": None}],
            [{"0": None}],
        ),
    ],
    ids=str,
)
def test_members_that_are_not_declared_are_as_many_as_there_must_be(schema, fitting, others):
    found = normalise({"type": "object", **schema})
    grammar = compiled(found.normal)

    assert {one.keyword: one.level for one in found.findings}["minProperties"] == "narrowed"
    assert [value for value in fitting if not accepts(grammar, json.dumps(value))] == []
    assert [value for value in others if accepts(grammar, json.dumps(value))] == []
    for text in samples(grammar):
        assert len(json.loads(text)) >= schema["minProperties"], text


def test_more_members_than_can_be_told_apart_are_not_all_counted():
    found = normalise({"type": "object", "minProperties": 50})

    assert [one.path for one in found.relaxed] == ["/minProperties"]
    assert samples(compiled(found.normal))


def test_a_rule_without_a_body_is_no_rule():
    rules = Rules()
    name = rules.reserve("rule")

    with pytest.raises(ValueError, match=name):
        rules.grammar(name)


def test_a_thousand_optional_members_take_as_many_rules():
    text = json_value(Normal(obj(*((f"p{number}", STRING) for number in range(1000))))).grammar

    assert text.count("\n") < 5000
    assert accepts(compiler().compile_grammar(text), '{"p5":"a","p999":""}')


def test_one_schema_has_one_grammar():
    node = obj(("a", String(1, 50)), ("b", Number(True, None, None, 3)), others=(Others(ANY),))

    assert json_value(Normal(node)) == json_value(Normal(node))


SCALARS = st.one_of(
    st.builds(lambda least, more: String(least, least + more), st.integers(0, 3), st.integers(0, 12)),
    st.builds(String, st.integers(0, 6)),
    st.builds(
        lambda least, more, step: Number(True, bound(least * step), bound((least + more) * step), step),
        st.integers(-200, 200), st.integers(0, 3000), st.sampled_from((1, 1, 2, 7, 25)),
    ),
    st.builds(
        lambda least, more, ends: Number(False, bound(least / 8, ends), bound((least + more) / 8, ends)),
        st.integers(-200, 200), st.integers(1, 3000), st.booleans(),
    ),
    st.just(Constants((None, True, "<x>", 2.5))),
)  # fmt: skip


def containers(nodes):
    sizes = st.tuples(st.integers(0, 2), st.integers(0, 3))
    properties = st.dictionaries(st.sampled_from("abcd"), st.tuples(nodes, st.booleans()), max_size=4)
    return st.one_of(
        st.builds(lambda rest, size: Array((), rest, size[0], sum(size)), nodes, sizes),
        st.builds(lambda found: obj(*((name + "!" * must, node) for name, (node, must) in found.items())), properties),
        st.builds(lambda one, other: Union((one, other)), SCALARS, SCALARS),
    )


NODES = st.recursive(SCALARS, containers, max_leaves=6)


@settings(max_examples=60)
@given(NODES, st.integers())
def test_whatever_any_schema_admits_is_of_it(node, seed):
    text = sample(compiled(node), seed)

    assert text is None or admits(Normal(node), decoded(text)), text


@settings(max_examples=60)
@given(NODES, st.data())
def test_every_value_of_a_schema_is_admitted_as_it_is_usually_written(node, data):
    value = data.draw(values(node))

    assert accepts(compiled(node), json.dumps(value, ensure_ascii=False))


def values(node):
    """Values of a node, of which the strings have no escapes."""
    match node:
        case String(least, most):
            return st.text(st.sampled_from("az é<東🚀"), min_size=least, max_size=least + 20 if most is None else most)
        case Number(True, least, most, step):
            return st.integers(int(least.value) // step, int(most.value) // step).map(lambda one: one * step)
        case Number(False, least, most):
            middle = (least.value + most.value) / 2
            return st.sampled_from([float(middle), *(float(end.value) for end in (least, most) if not end.exclusive)])
        case Constants(values=found):
            return st.sampled_from(found)
        case Array(_, rest, least, most):
            return st.lists(values(rest), min_size=least, max_size=most)
        case Union(options):
            return st.one_of(*map(values, options))
    required = {one.name: values(one.value) for one in node.properties if one.required}
    optional = {one.name: values(one.value) for one in node.properties if not one.required}
    order = [one.name for one in node.properties]
    found = st.fixed_dictionaries(required, optional=optional)
    return found.map(lambda value: {name: value[name] for name in order if name in value})
