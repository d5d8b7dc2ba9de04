"""The EBNF of sets of strings: what XGrammar accepts with it is what the sets have."""

from __future__ import annotations

import json
from functools import cache
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolglot.schemas.charset import EVERYTHING, Charset
from toolglot.schemas.language import (
    Language,
    Letters,
    anything,
    apart,
    json_key_letters,
    json_letters,
    literals,
    pattern,
    raw_letters,
    rules,
    string_format,
)

xgrammar = pytest.importorskip("xgrammar")
QUOTE = '"\\""'
RAW = raw_letters('<"\\')


@cache
def _tokenizer() -> Any:
    tokens = [bytes([byte]) for byte in range(256)] + [b"aaa", b'a"', b"ab", b'",', b'"a', b"\\n\\n", b"<eos>"]
    return xgrammar.TokenizerInfo(
        tokens, xgrammar.VocabType.RAW, vocab_size=len(tokens), stop_token_ids=[len(tokens) - 1]
    )


@cache
def _compiled(language: Language, letters: Letters, end: str, before: str = "") -> Any:
    found = rules(language, "text", letters, end)
    assert found is not None
    grammar = "\n".join([f"root ::= {before} text", *found])
    return xgrammar.GrammarCompiler(_tokenizer(), max_threads=1).compile_grammar(grammar)


def _accepts(grammar: Any, written: str) -> bool:
    matcher = xgrammar.GrammarMatcher(grammar)
    return matcher.accept_string(written) and matcher.is_completed()


def _json(text: str, *, ascii_only: bool = False) -> str:
    return json.dumps(text, ensure_ascii=ascii_only)


def _in_json(language: Language, text: str) -> bool:
    return _accepts(_compiled(language, json_letters, QUOTE, QUOTE), _json(text))


SOURCES = st.sampled_from(
    [
        "", "foo", r"\S", "^a*$", "^[^a]+$", "^(ab|a)*b$", '^["\\\\a]{1,3}$', "^.{2,4}$", r"^[\x00-\x1f]+$",
        "^(a|b{2,6}){2,9}$",
        r"^\w+( \w+)*$", "^(?!.*aa)[ab]*$", "a$", "^[a-z]{2,40}$", "(^a|b)c", "^é[^\n]*$", "^(a{1,30}-){1,7}$",
        r"^\p{L}+$",
        "^([a-c]{3,60})?$", "^[ab]{30,}$", "^(?:a|ab|b){40,90}$", "^[^b]{6,50}b$",
    ]
)  # fmt: skip
TEXTS = st.one_of(st.text("ab", max_size=60), st.text('abfo\\"\n\x01 é🚀-c', max_size=7), st.text(max_size=5))


@settings(max_examples=60, deadline=None)
@given(SOURCES, st.lists(TEXTS, min_size=1, max_size=10), st.sampled_from([None, (0, 3), (2, 40), (1, 900)]))
def test_json_strings(source: str, texts: list[str], span: tuple[int, int] | None) -> None:
    language = pattern(source) if span is None else pattern(source).within(*span)
    if language.empty:
        assert rules(language, "text", json_letters, QUOTE) is None
        return
    grammar = _compiled(language, json_letters, QUOTE, QUOTE)
    keys = _compiled(language, json_key_letters, QUOTE, QUOTE)
    raw = _compiled(language, RAW, '"<"')
    for text in [*texts, language.shortest() or ""]:
        admitted = language.matches(text)
        exact = len(_json(text)) - 2 <= len(text) or span is None
        assert _accepts(grammar, _json(text)) == admitted or (admitted and not exact)
        assert _accepts(keys, _json(text)) == admitted or (admitted and not exact)
        assert _accepts(raw, f"{text}<") == (admitted and not set(text) & set('<"\\'))


@pytest.mark.parametrize("most", [5, 100, 5_000])
@pytest.mark.parametrize("letters", [json_letters, json_key_letters])
def test_long_json_strings_are_counted(letters: Letters, most: int) -> None:
    grammar = _compiled(anything.within(1, most), letters, QUOTE, QUOTE)
    assert _accepts(grammar, _json("a"))
    assert _accepts(grammar, _json("é" * most))
    assert not _accepts(grammar, _json(""))
    assert not _accepts(grammar, _json("a" * (most + 1)))
    assert not _accepts(grammar, _json("\n" * (most + 1)))
    assert not _accepts(grammar, _json("a" * most + "\n"))


@pytest.mark.parametrize("first", ["aaa", "a", "ab"])
def test_no_token_crosses_the_longest_length(first: str) -> None:
    vocabulary = _tokenizer().decoded_vocab
    for source, most in (("^a*$", 30), ("^[ab]+$", 64), ("", 40)):
        matcher = xgrammar.GrammarMatcher(_compiled(pattern(source).within(0, most), json_letters, QUOTE, QUOTE))
        assert matcher.accept_string('"')
        length = 0
        for token in [first.encode(), b"aaa", b"a"] if source != "^a*$" else [b"aaa", b"a"]:
            while matcher.accept_token(vocabulary.index(token)):
                length += len(token)
        assert length == most
        assert not matcher.accept_token(vocabulary.index(b'a"'))
        assert matcher.accept_string('"')
        assert matcher.is_completed()


@pytest.mark.parametrize(
    ("source", "most"),
    [
        ("^[ab]+(-[ab]+)*$", 80), ("^(ab|b)*$", 60), ("foo", 400), (r"\S", 90), ("^(a|ab|b)*-$", 70),
        ("^([ab]{1,9}-){2,40}$", 66),
        ("^(?=.*a)[ab]+$", 44), ("", 33), ("^.*$", 20), ("^a(b*c?){3,}$", 300),
    ],
)  # fmt: skip
@pytest.mark.parametrize("letters", [json_letters, RAW])
def test_whoever_picks_any_token_that_is_allowed_writes_one_of_the_strings(
    source: str, most: int, letters: Letters
) -> None:
    language = pattern(source).within(1, most)
    grammar = _compiled(language, letters, QUOTE, QUOTE)
    random = Random(source)
    lengths = []
    for _ in range(12):
        written = _walk(grammar, random)
        text = json.loads(written) if letters is json_letters else written[1:-1]
        assert language.matches(text)
        lengths.append(len(text))
    assert max(lengths) <= most


def _walk(grammar: Any, random: Random) -> str:
    """What is written by picking tokens that are allowed, and closing where nothing else is, or once in a while."""
    vocabulary, matcher, written = _tokenizer().decoded_vocab, xgrammar.GrammarMatcher(grammar), b""
    mask = xgrammar.allocate_token_bitmask(1, len(vocabulary))
    while not matcher.is_completed():
        matcher.fill_next_token_bitmask(mask)
        words = mask[0].tolist()
        allowed = [token for token in range(len(vocabulary)) if words[token // 32] >> token % 32 & 1]
        open_ended = [token for token in allowed if b'"' not in vocabulary[token] or random.random() < 0.01]
        token = random.choice(open_ended or allowed)
        assert matcher.accept_token(token)
        written += vocabulary[token]
    return written.decode()


@given(st.text(max_size=6))
@settings(max_examples=50, deadline=None)
def test_any_string_may_be_escaped_and_a_key_only_where_it_must_be(text: str) -> None:
    free, key = _free()
    assert _accepts(free, _json(text))
    assert _accepts(free, _json(text, ascii_only=True))
    assert _accepts(key, _json(text))
    assert _accepts(key, _json(text, ascii_only=True)) == (_json(text) == _json(text, ascii_only=True))


@cache
def _free() -> tuple[Any, Any]:
    return _compiled(anything, json_letters, QUOTE, QUOTE), _compiled(anything, json_key_letters, QUOTE, QUOTE)


@pytest.mark.parametrize("written", ['"\\ud83d"', '"\\udE80a"', '"\t"', '"a"b"', '"\\x41"', '"\\u00G0"', '"a', '"\\'])
def test_what_is_no_json_string_is_never_written(written: str) -> None:
    assert not any(_accepts(grammar, written) for grammar in _free())


def test_what_cannot_be_spelled_is_left_out() -> None:
    assert rules(pattern("^<+$"), "text", RAW) is None
    assert rules(pattern("^a{100,200}$"), "text", raw_letters("a")) is None
    assert rules(literals([]), "text", json_letters) is None
    either = _compiled(pattern("^(<|a)b*(c<)*$"), RAW, "")
    assert [_accepts(either, text) for text in ("abb", "<", "ac<")] == [True, False, False]
    assert _accepts(_compiled(pattern("^[^x]*$"), raw_letters('<"x'), '"<end>"'), "a>b<end>")


def test_an_automaton_without_what_cannot_be_spelled() -> None:
    names = apart(["ab", "a<"])
    grammar = _compiled(names, RAW, '"<"')
    assert [_accepts(grammar, text) for text in ("a<", "ab<", "a<<")] == [True, False, False]


@pytest.mark.parametrize(
    ("characters", "expected"),
    [
        ("a", ["[a]"]), ("ab-]^", [r"[\u002d\u005d-\u005ea-b]"]), ('"', [r'"\\" [\u0022]']),
        ("\\f", [r"[f]", r'"\\" [\u005c]']),
        ("\n\x01", [r'"\\" [n]', r'"\\u000" [1]']),
        ("é🚀", [r"[\u00e9\U0001f680]"]),
    ],
)  # fmt: skip
def test_letters(characters: str, expected: list[str]) -> None:
    assert json_letters(Charset.of(characters)) == expected


def test_a_set_that_lacks_few_characters_is_written_as_what_it_lacks() -> None:
    assert raw_letters("<")(EVERYTHING) == [r"[^<\ud800-\udfff]"]


@pytest.mark.parametrize(
    "name", ["date", "date-time", "uuid", "ipv4", "ipv6", "email", "uri", "hostname", "json-pointer"]
)
def test_formats(name: str) -> None:
    language = string_format(name)
    assert language is not None
    grammar = _compiled(language, json_letters, QUOTE, QUOTE)
    assert _accepts(grammar, _json(language.shortest() or ""))
    assert not _accepts(grammar, _json("no, not this one"))


LIMITED = {
    r"^(?!\s*$).+": ["not blank", " indented", "a" * 1_900],
    "^(/[^/]+)+/?$": ["/usr/local/bin", "/home/user/My Documents/", "/" + "a" * 1_900],
    r"^(\w+ )*\w+$": ["one two three", " ".join(["word"] * 100), "a" * 1_900],
    r"^[^\s@]+@[^\s@]+\.[^\s@]+$": ["somebody.else@mail.example.org"],
    r"\S": ["a text", " a text", 'He said:\n"no"\t1\n', "a" * 1_900],
    "^https?://": ["https://example.org/a", "http://a?b=1#c", "https://" + "a" * 1_900],
    r"^\S.*\S$": ["a text", "Two words", " ".join(["word"] * 100), "a" * 1_900],
    "^[a-z]+(,[a-z]+)*$": ["one,two", "a,b,c,d,e,f", "a" * 1_900],
    r"^.*\.(jpg|png)$": ["photo of me.jpg", "a" * 1_900 + ".png"],
    r"^[A-Z]{2,}[0-9]+$": ["ABC123"],
}


@pytest.mark.parametrize("source", LIMITED)
def test_patterns_with_a_length_have_what_is_common_in_few_rules(source: str) -> None:
    language = pattern(source).within(1, 2_000)
    assert [text for text in LIMITED[source] if not language.matches(text)] == []
    found = rules(language, "text", json_letters, QUOTE)
    assert found is not None
    assert len(found) < 60
    assert [text for text in LIMITED[source] if not _in_json(language, text)] == []


@pytest.mark.parametrize("span", [(0, 30), (3, 30), (5, 41), (2, 130)])
@pytest.mark.parametrize("source", LIMITED)
def test_texts_that_are_counted_in_runs(source: str, span: tuple[int, int]) -> None:
    """Whatever the rules admit has the lengths and the pattern, and without escapes it is all that ``matches`` says."""
    whole, language = pattern(source), pattern(source).within(*span)
    raw, written = _compiled(language, raw_letters(""), '"<"'), _compiled(language, json_letters, QUOTE, QUOTE)
    random = Random(f"{source} {span}")
    for text in _like(source, random):
        admitted = language.matches(text)
        assert not admitted or (whole.matches(text) and span[0] <= len(text) <= span[1])
        assert _accepts(raw, f"{text}<") == admitted
        assert admitted or not _accepts(written, _json(text))
    for _ in range(5):
        assert language.matches(json.loads(_walk(written, random)))


def _like(source: str, random: Random) -> list[str]:
    """Texts of a few characters, and common ones with some changes."""
    texts = ["".join(random.choices('ab/@. ,A1"\n', k=random.randrange(9))) for _ in range(60)]
    for text in LIMITED[source]:
        for _ in range(20):
            start, size = random.randrange(len(text)), random.randrange(45)
            texts.append(text[:size] + text[start : start + size])
    return texts


@pytest.mark.parametrize(
    "source", ["(a{1,60}){1,60}", "(.*a){50}", "(a|aa)*b", "^(a|b)*a(a|b){30}$", "[a-z]{1,1000000}"]
)
def test_hostile_patterns_are_written_in_little_text(source: str) -> None:
    found = rules(pattern(source), "text", json_letters, QUOTE)
    assert found is not None
    assert len("\n".join(found)) < 100_000
