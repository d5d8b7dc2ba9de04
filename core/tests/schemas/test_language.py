"""Sets of strings: what patterns, lengths and operations admit, beside Python's own regular expressions."""

from __future__ import annotations

import re
import time
from contextlib import suppress

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from toolglot.schemas.language import Language, PatternError, TooLargeError, anything, apart, literals, pattern

TEXTS = st.one_of(st.text("ab", max_size=5), st.text("ab1- \n_é", max_size=8))
ATOMS = st.sampled_from(
    ["a", "b", "1", "é", "-", " ", "[ab]", "[^a]", r"\d", r"\w", r"\s", r"\S", r"[^\d]", r"[\w-]", ".", r"\-", "(?:)"]
)


def _larger(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    times = st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{0,3}", "{2,}", "*?", "+?"])
    return st.one_of(
        st.tuples(parts, parts).map("".join),
        st.tuples(parts, parts).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        st.tuples(parts, times).map(lambda pair: f"({pair[0]}){pair[1]}"),
        parts.map(lambda part: f"(?:^{part})"),
        parts.map(lambda part: f"(?:{part}$)"),
        parts.map(lambda part: f"(?:^|{part}|$)"),
    )


PARTS = st.recursive(ATOMS, _larger, max_leaves=6)
SOURCES = st.tuples(st.sampled_from(["", "^"]), PARTS, st.sampled_from(["", "$"])).map("".join)


def _found(source: str, text: str) -> bool:
    """What Python finds, its digits, letters and spaces being those of ASCII. Its $ is at the very end only."""
    return re.search(source.replace("$", r"\Z"), text, re.ASCII) is not None


@settings(max_examples=150, deadline=None)
@given(SOURCES, st.lists(TEXTS, min_size=1, max_size=8))
def test_a_pattern_has_the_strings_in_which_it_is_found(source: str, texts: list[str]) -> None:
    language = pattern(source)
    for text in texts:
        assert language.matches(text) == _found(source, text) or "é" in text
        assert not language.matches(text) or _found(source, text)


@settings(max_examples=80, deadline=None)
@given(SOURCES, SOURCES, st.lists(TEXTS, min_size=1, max_size=8), st.integers(0, 4), st.integers(0, 6))
def test_operations_mean_what_they_say(one: str, other: str, texts: list[str], least: int, most: int) -> None:
    try:
        first, second = pattern(one), pattern(other)
        both, either, neither = first.intersect(second), first.union(second), first.complement()
        long = first.within(least, most)
    except TooLargeError:
        assume(False)
    for text in texts:
        assert both.matches(text) == (first.matches(text) and second.matches(text))
        assert either.matches(text) == (first.matches(text) or second.matches(text))
        assert not (neither.matches(text) and _any_validator(one, text))
        fits = first.matches(text) and least <= len(text) <= most
        assert long.matches(text) == fits or (long.narrowed and fits)


def _any_validator(source: str, text: str) -> bool:
    return _found(source, text) or re.search(source, text) is not None


@settings(max_examples=80, deadline=None)
@given(SOURCES)
def test_the_shortest_string_is_one_of_them_and_none_is_there_where_there_are_none(source: str) -> None:
    for language in (pattern(source), pattern(source).within(2, 5)):
        shortest = language.shortest()
        assert (shortest is None) == language.empty
        assert shortest is None or language.matches(shortest)


@pytest.mark.parametrize(
    ("source", "admitted", "refused"),
    [
        (r"^\d{4}-\d{2}$", ["2020-12"], ["2020-1", "x2020-12", "2020-12\n", "٣٣٣٣-٣٣"]),
        ("[a-z]+", ["abc", "1a1"], ["", "1", "A"]),
        ("^(foo|ba[rz])$", ["foo", "bar", "baz"], ["ba", "foobar"]),
        ("^x$|^y$", ["x", "y"], ["xy", "x|y", ""]),
        ("(^a|b)c", ["ac", "acx", "xbc"], ["xac"]),
        ("^(a(,|$))+$", ["a", "a,a", "a,"], ["", "aa"]),
        ("a$b|c", ["c"], ["ab"]),
        ("^(?=.*[0-9])[a-z0-9]+$", ["a1", "1"], ["a", "", "a1-"]),
        ("^(?=.*[0-9])(?!.*x)[a-z0-9]+$|^no$", ["a1", "no"], ["x1", "a"]),
        ("^(?!a$)", ["", "ab", "b"], ["a"]),
        ('^a"b\\\\$', ['a"b\\'], ['a"b']),
        (r"^[\w.+-]+@\/\_$", ["a.b@/_"], ["é@/_"]),
        (r"^\p{Lu}\P{L}$", ["A1", "É-"], ["a1", "AB"]),
        (r"^\p{General_Category=Decimal_Number}$", ["1", "٣"], ["a"]),
        (r"^\u00e9\x41\u{1F680}\ud83d\ude80$", ["éA🚀🚀"], ["éA🚀"]),
        (r"^[\x00-\x1f\b]$", ["\x07", "\b"], [" "]),
        ("^(?P<year>a)(?<month>b)$", ["ab"], ["a"]),
        (r"\Aa\z", ["a"], ["ab", "a\n"]),
        (".", ["a", "\x00"], ["", "\n", "\r", "\u2028"]),
        ("^[^a]$", ["\n", "\u2028", "b"], ["a", ""]),
        (r"^\W\D\S$", ["  x", "--x"], ["é1x", "aax"]),
        ("", ["", "a"], []),
        ("^$", [""], ["a", "\n"]),
    ],
)
def test_patterns_in_the_spelling_of_ecma_262_and_what_people_write(
    source: str, admitted: list[str], refused: list[str]
) -> None:
    language = pattern(source)
    assert [text for text in admitted if not language.matches(text)] == []
    assert [text for text in refused if language.matches(text)] == []
    assert not language.narrowed


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (r"^(a|b)\1$", "a backreference"), (r"(?P<n>a)(?P=n)", "a backreference"), (r"\bfoo", "a word boundary"),
        ("(?<=a)b", "a lookbehind"), ("a(?=b)", "a lookahead"), ("(?i)a", "flags"), ("(?i:a)", "flags"),
        ("a++", "possessive"),
        (r"\p{Script=Greek}", "a property"), (r"\p{Cn}", "a property"), ("(a", "without its )"),
        ("a)", "without its ("),
        ("[a", "without its ]"), ("[]a]", "first in a class"), ("*a", "nothing before"), ("a**", "two quantifiers"),
        ("a{3,2}", "wrong way round"), ("[b-a]", "wrong way round"), ("\\", "nothing behind"), (r"\q", "means nothing"),
        (r"\ud800", "surrogate"), ("\ud800", "surrogate"), ("a{,3}", "without its first number"), (r"\01", "octal"),
        ("[[:alpha:]]", "in a class"), (r"\u{110000}", "surrogate"),
    ],
)  # fmt: skip
def test_what_cannot_be_followed_is_named(source: str, reason: str) -> None:
    with pytest.raises(PatternError, match=re.escape(reason)):
        pattern(source)


@pytest.mark.parametrize(
    "source",
    [
        "(a{1,1000}){1,1000}", "((a|b){1,1000}c){1,1000}", "(a|aa)*b", "(.*a){50}",
        "(a|b)*a(a|b){30}", "^(a?){1000}a{1000}$", "((((a{1,99}){1,99}){1,99}){1,99}){1,99}", "(a*)*" * 30,
        "(" * 99 + "a" + ")*" * 99, "(" * 5000 + "a" + ")" * 5000, "(a|b|ab)*" * 60, "[a-z]{1,1000000}",
        "a{99999999999}",
        "(^a|b|c$)*" * 40, "(^|a)(^|b)" * 60, "x" * 20_000, "a?" * 3_000, "|".join(["a"] * 5_000), r"\p{L}" * 300,
        "^(?=.*a)(?=.*b)(?=.*c)(?=.*d)(?=.*e)(?=.*f)(?=.*g)(?=.*h)(?=.*i)(?=.*j)(?=.*k)(?=.*l).*$",
    ],
)  # fmt: skip
def test_hostile_patterns_cost_little(source: str) -> None:
    pattern(r"\p{L}")  # the categories of all characters are looked up once
    for ask in (
        _nothing,
        Language.complement,
        lambda one: one.within(3, 700),
        lambda one: one.matches("ab" * 300),
        Language.shortest,
    ):
        began = time.process_time()
        with suppress(TooLargeError):
            ask(pattern(source))
        assert time.process_time() - began < 1.5


def _nothing(language: Language) -> None:
    """Only the pattern itself is of interest."""


@pytest.mark.parametrize(
    ("source", "most"),
    [("^[a-z]{1,10000}$", 9_000), ("^[a-z]+$", 9_000), ("^x[a-z]*y{3}$", 60), ("^[a-z]([a-z0-9-]*[a-z0-9])?$", 60)],
)
def test_a_repetition_is_cut_to_a_length_without_being_written_out(source: str, most: int) -> None:
    cut = pattern(source).within(5, most)
    assert not cut.narrowed
    text = cut.shortest()
    assert text is not None
    assert len(text) == 5
    long = text.replace(text[2], text[2] * (most - 4))
    assert cut.matches(long[:1] + long[1 - most :]) or cut.matches("x" + "a" * (most - 4) + "yyy")
    assert not cut.matches("a" * (most + 1))


def test_what_is_counted_in_runs_leaves_out_long_texts_of_many_runs() -> None:
    search = pattern("foo").within(5, 5_000)
    assert search.narrowed
    assert search.matches("foo" + "x" * 3_700)
    assert search.matches("x" * 4_500 + "foo")
    assert not search.matches("foo" + "x" * 4_998)
    assert not search.matches("foox")
    blank = pattern(r"\S").within(1, 5_000)
    assert [blank.matches(text) for text in ("a", " a" + "b" * 4_000, "a" * 5_001)] == [True, True, False]


def test_what_is_counted_in_runs_can_be_intersected() -> None:
    slugs = pattern("^[a-z]+(-[a-z]+)*$").within(3, 500)
    short = slugs.intersect(pattern("^a")).within(0, 300)
    assert [short.matches(text) for text in ("abc-d", "bbc-d", "ab", "a" * 300, "a" * 301)] == [
        True, False, False, True, False
    ]  # fmt: skip
    assert slugs.intersect(pattern("^[0-9]*$")).empty
    both = slugs.intersect(pattern("^[^-]*-[^-]*$").within(4, 400))
    assert [both.matches(text) for text in ("ab-c", "a-b", "abcd", "a-b-c")] == [True, False, False, False]
    with pytest.raises(TooLargeError):
        slugs.union(pattern("^[0-9]+(-[0-9]+)*$").within(3, 5_000))


def test_a_length_that_always_holds_changes_nothing() -> None:
    language = pattern("^[a-z]{3,5}$")
    assert language.within(1, 10) == language
    assert language.within(6, 10).empty
    assert language.within(4, 3).empty
    assert pattern("").within(2, 2) == pattern("").within(0, 2).within(2, None)


def test_equal_sets_are_equal_and_hash_alike() -> None:
    assert pattern("") == anything
    assert literals(["a", "b"]) == literals(["b", "a"])
    assert hash(pattern("^a$")) == hash(literals(["a"]))
    one, other = pattern("^(a|b)*$").complement(), pattern("^[ab]*$").complement()
    assert (one, hash(one)) == (other, hash(other))
    assert one != pattern("^a*$").complement()


def test_the_complement_of_a_set_about_which_validators_differ_has_nothing_that_any_of_them_takes() -> None:
    outside = pattern(r"^\d$").complement()
    assert [outside.matches(text) for text in "1٣a"] == [False, False, True]
    assert not pattern("^a$").complement().matches("a\n")
    assert [outside.complement().matches(text) for text in "1a"] == [True, False]


def test_literals() -> None:
    names = ["", "a", "ab", "é", "x" * 3_000]
    language = literals(names)
    assert all(map(language.matches, names))
    assert not any(map(language.matches, ["b", "abc", "x" * 2_999]))
    assert literals([]).empty
    assert literals([]).shortest() is None
    assert literals(["\ud800"]).empty
    assert literals("a" * count for count in range(400)).matches("a" * 399)


@settings(max_examples=40, deadline=None)
@given(st.sets(st.text("abc", max_size=5), max_size=30), TEXTS.map(lambda text: text.replace("1", "c")))
def test_names_apart_from_many_others(names: set[str], text: str) -> None:
    language = apart(names)
    assert not (language.matches(text) and text in names)
    assert language.matches(text) or text in names or language.narrowed
    assert language.matches("zzz")
    assert not any(map(apart(names, 4).matches, names))


def test_typical_patterns_cost_less_than_a_millisecond() -> None:
    costs = []
    for number in range(50):
        began = time.process_time()
        pattern(rf"^\d{{4}}-{number}-\d{{2}}$").within(1, 64)
        costs.append(time.process_time() - began)
    assert sorted(costs)[25] < 0.001
