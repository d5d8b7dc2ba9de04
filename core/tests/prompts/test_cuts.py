from __future__ import annotations

import time

import pytest

from toolglot.errors import RequestError
from toolglot.prompts.cuts import Cutter, cut_strings, split, unused_mark

MARK = "\ufdd0"


def cut(text: str, *tokens: str) -> str:
    return Cutter(tokens).cut(text, "|")


def test_each_occurrence_is_cut_after_its_first_character() -> None:
    assert cut("a<s>b<s>", "<s>") == "a<|s>b<|s>"


def test_text_without_a_token_is_left() -> None:
    assert cut("a < s > <S> <s <", "<t>") == "a < s > <S> <s <|"
    assert cut("a < s > <S>", "<s>") == "a < s > <S>"


def test_what_a_token_could_go_on_from_is_cut_at_its_end() -> None:
    assert cut("a <s", "<s>") == "a <s|"
    assert cut("<s><", "<s>") == "<|s><|"
    assert cut("<s>", "<s>") == "<|s>"


def test_no_tokens_cut_nothing() -> None:
    assert cut("a<s>") == "a<s>"


def test_overlapping_occurrences_are_all_cut() -> None:
    assert cut("<a><b>", "<a>", "a><", "><b>") == "<|a|>|<b>|"
    assert cut("aaaa", "aa") == "a|a|a|a|"


def test_a_token_inside_another_is_cut() -> None:
    assert cut("[[x]]", "[[x]]", "[x]") == "[|[|x]]"


def test_tokens_that_begin_alike_are_told_apart() -> None:
    assert cut("<t1><t12><t3>", "<t1>", "<t12>", "<t2>") == "<|t1><|t12><t3>"


def test_signs_of_patterns_stand_for_themselves() -> None:
    assert cut("a.*b [x]+ a.*c", "a.*b", "[x]+") == "a|.*b [|x]+ a.*c"


def test_whitespace_and_single_characters_are_no_markers() -> None:
    assert cut("a    b\n\nc", "    ", "\n\n", "c") == "a    b\n\nc"


def test_what_only_the_normalised_text_spells_is_cut_there() -> None:
    cutter = Cutter(["<Call>"], str.lower)

    assert cutter.cut("A <call> B", "|") == "A <|call> B"
    assert cutter.cut("A <CALL> B", "|") == "a <|call> b"
    assert cutter.cut("A <car> B", "|") == "A <car> B"


def test_keys_and_nested_values_are_cut() -> None:
    value = {"<s>": [{"k": "<s>"}, ("<s>",)], "n": [1, 1.5, True, None]}

    assert cut_strings(value, lambda text: cut(text, "<s>")) == {
        "<|s>": [{"k": "<|s>"}, ["<|s>"]],
        "n": [1, 1.5, True, None],
    }


def test_the_mark_occurs_nowhere_in_the_request() -> None:
    assert unused_mark(["x"], {}) == "\ufdd0"
    assert unused_mark(["x\ufdd0"], {"\ufdd1": 1}) == "\ufdd2"
    assert unused_mark("\\ufdd0") == "\ufdd1"


def test_a_request_with_every_noncharacter_is_refused() -> None:
    with pytest.raises(RequestError, match="noncharacter"):
        unused_mark("".join(map(chr, range(0xFDD0, 0xFDF0))))


def test_a_mark_that_a_template_escaped_is_found() -> None:
    assert split(f"a{MARK}b\\ufdd0c", MARK) == ["a", "b", "c"]
    assert split(f"{MARK}{MARK}", MARK) == []


def test_thousands_of_tokens_cost_no_more_than_a_few() -> None:
    """The worst text for a list of alternatives is one that begins like all of them, everywhere."""
    cutter = Cutter(f"<unused{number}>" for number in range(6_000))
    started = time.process_time()
    cutter.cut("<unused9" * 5_000, MARK)

    assert time.process_time() - started < 1
