from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType

from toolglot.server.encoding import encode_json


class Value(Struct):
    text: str
    rest: list[str] | UnsetType = UNSET


def test_text_is_written_as_it_is():
    assert encode_json(Value("å🌦\x00")) == '{"text":"å🌦\\u0000"}'.encode()


def test_a_lone_surrogate_is_replaced_wherever_it_is():
    assert encode_json({"a": (Value("x\ud800y", ["\udc00", "å"]), 1)}) == (
        '{"a":[{"text":"x\N{REPLACEMENT CHARACTER}y","rest":["\N{REPLACEMENT CHARACTER}","å"]},1]}'.encode()
    )


def test_halves_that_met_are_one_character():
    assert encode_json(Value("\ud83c" + "\udf26 \ud800")) == '{"text":"🌦 \N{REPLACEMENT CHARACTER}"}'.encode()
