"""Structural tags as GBNF. XGrammar reads GBNF too: it says whether the two admit the same texts."""

from __future__ import annotations

import json

import pytest
import xgrammar
from hypothesis import given
from hypothesis import strategies as st

import toolglot
from toolglot.backends.gbnf import gbnf
from toolglot.errors import UnenforceableError
from toolglot.structural_tag import (
    AnyText,
    AnyTokens,
    ConstString,
    Grammar,
    JsonSchema,
    Optional,
    Or,
    Regex,
    Repeat,
    Sequence,
    StructuralTag,
    Tag,
    TagsWithSeparator,
    Token,
    TokenTriggeredTags,
    TriggeredTags,
)

BYTES = [bytes([value]) for value in range(256)]
INFO = xgrammar.TokenizerInfo([*BYTES, b"</s>"], xgrammar.VocabType.RAW, vocab_size=257, stop_token_ids=[256])
COMPILER = xgrammar.GrammarCompiler(INFO, max_threads=1)
SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "string", "maxLength": 3}, "b": {"type": "integer"}, "c": {"enum": ["<x>", None]}},
    "required": ["a"],
    "additionalProperties": False,
}
TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": SCHEMA, "strict": True}} for name in ("do", "don't")
]


def lowered(form, names=None):
    return gbnf(StructuralTag(form).to_json(), names or {})


def admits(grammar, text):
    matcher = xgrammar.GrammarMatcher(grammar)
    return matcher.accept_string(text.encode()) and matcher.is_completed()


def both(form):
    tag = StructuralTag(form).to_json()
    return COMPILER.compile_structural_tag(tag), COMPILER.compile_grammar(gbnf(tag, {}))


FREE = AnyText(("<a>", "ab", "<<b"))
FORMS = {
    "text": ConstString('a"\\\n\x01\u00e9[^]'),
    "excludes": FREE,
    "one that is in another": AnyText(("aab", "ab")),
    "regex": Regex(r"[ \n]{0,2}[^ \n<]"),
    "sequence": Sequence((ConstString("a"), Optional(ConstString("b")), Repeat(1, 2, ConstString("<")))),
    "none": Repeat(0, 0, ConstString("a")),
    "one of two": Or((ConstString("a"), Sequence((ConstString("ab"), FREE)))),
    "tag": Tag("<", AnyText(("b",)), "a>"),
    "ends": Tag("<", Regex("b{0,2}"), (">", "a>")),
    "list": TagsWithSeparator(
        (Tag("a", ConstString("b"), "b"), Tag("<", ConstString("b"), ">")), ">", at_least_one=True
    ),
    "perhaps a list": TagsWithSeparator((Tag("a", ConstString("b"), ""),), "<"),
    "one at most": TagsWithSeparator((Tag("a", ConstString("b"), ""),), "<", stop_after_first=True),
    "triggers": TriggeredTags(("<a", "<<"), (Tag("<a>", ConstString("b"), "<"), Tag("<<b", FREE, ">"))),
    "one trigger": TriggeredTags(("<a",), (Tag("<ab", FREE, "<b>"),), stop_after_first=True, excludes=("bb",)),
    "grammar": Grammar('root ::= one_1{2,} ("\\u003c" | [^\\x61\\U00000062-])?\none_1 ::= "a" | [b]'),
    "free text in a grammar": Grammar(
        'root ::= "<" rest_0\nrest_0 ::= TagDispatch(loop_after_dispatch=false, excludes=("a>", "<"))'
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_it_admits_what_the_tag_admits(name):
    tag, grammar = both(FORMS[name])

    @given(st.text("ab<>\n", max_size=9))
    def check(text):
        assert admits(grammar, text) == admits(tag, text)

    check()


def test_texts_are_spelled_as_they_are():
    text = FORMS["text"].value
    assert admits(COMPILER.compile_grammar(lowered(ConstString(text))), text)
    assert lowered(ConstString(text)) == 'root ::= "a\\"\\\\\\u000a\\u0001\u00e9[^]"\n'


@pytest.mark.parametrize("parser", ["hermes", "glm45", "kimi_k2", "pythonic", "llama3_json", "qwen3_coder", "mistral"])
@pytest.mark.parametrize("choice", ["auto", "required"])
def test_calls_of_a_family_are_admitted_and_broken_ones_are_not(parser, choice):
    loaded = toolglot.load_parser(parser)
    tag = loaded.structural_tag(tools=TOOLS[:1], tool_choice=choice)
    first, second = both(tag.format)
    values = [{"a": ""}, {"a": "<", "b": -3}, {"a": "x", "c": "<x>"}, {"a": "x", "d": "1?"}, {"b": 1}]

    @given(st.sampled_from(values), st.integers(0, 300), st.sampled_from(["", '"', "}", "<", "1", "x"]), st.booleans())
    def check(value, place, sign, exchange):
        text = loaded.render([toolglot.Call("functions.do:0", "do", json.dumps(value))], tools=TOOLS[:1])
        place = min(place, len(text))
        broken = text[:place] + sign + text[place + exchange :]
        for one in (text, broken):
            assert admits(second, one) == admits(first, one)

    check()


def test_tokens_are_named_by_id_and_are_not_spelled():
    tags = (Tag(Token(7), ConstString("x"), Token(8)),)
    names = {7: "<c>", 8: "</c>"}
    grammar = lowered(TokenTriggeredTags((7,), tags), names)
    assert '<[7]> "x" <[8]>' in grammar
    spelled = COMPILER.compile_grammar(grammar.replace("<[7]>", '"!"').replace("<[8]>", '"?"'))
    assert admits(spelled, "a<c<!x?b")
    assert not admits(spelled, "a<c>")
    assert lowered(Grammar('root ::= Token(7) "a"')).splitlines()[1] == 'g0-root ::= <[7]> "a"'


@pytest.mark.parametrize(
    ("form", "said"),
    [
        (JsonSchema({"type": "object"}), "'json_schema'"),
        (AnyTokens((1,)), "'any_tokens'"),
        (TriggeredTags(("<",), (Tag("<", ConstString("a"), ">"),), at_least_one=True), "'triggered_tags'"),
        (TriggeredTags(("<",), (Tag("a", ConstString("a"), ">"),)), "no tag begins with its trigger '<'"),
        (Repeat(0, 5000, ConstString("a")), "2000 times"),
        (Grammar('root ::= "a"{1,2001}'), "2000 times"),
        (Grammar("root ::= Unknown(1)"), r"does not know '\(1\)'|know"),
        (Grammar('root ::= "\\q"'), "does not know"),
        (Grammar("start: /a/", syntax="lark"), "'grammar'"),
        (Regex(r"(?=a)b"), "cannot say this"),
    ],
)
def test_what_it_cannot_say_is_refused(form, said):
    with pytest.raises(UnenforceableError, match=said):
        lowered(form)


def test_what_is_nested_too_deeply_is_refused():
    form = ConstString("a")
    for _ in range(5000):
        form = Optional(form)
    with pytest.raises((UnenforceableError, RecursionError)):
        lowered(form)
