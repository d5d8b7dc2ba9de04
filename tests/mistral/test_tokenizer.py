"""The tokens of mistral-common's tokenizers: their text as it comes, and which of them are markers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import toolglot
from toolglot.errors import ModelError
from toolglot.tokens import Detokenizer
from toolglot.tokens.mistral import MistralTokenizer
from toolglot.vocabulary import added_tokens, special_token_ids

TokenizerOf = Callable[[int | str], MistralTokenizer]
ALL = (3, 7, 11, 13, 15, "sp3", "sp7")
TEXTS = (
    "Hello, world.",
    "  two spaces\n\n\ttab ",
    "Zürich, 北京, Ελλάδα, नमस्ते",
    "👩‍👩‍👧‍👦 🏳️‍🌈 🇨🇭",
    '{"city": "São Paulo", "n": [1, 2.5, null]}',
    "[TOOL_CALLS]get_weather[ARGS]{}</s>",
)


def encode(tokenizer: MistralTokenizer, text: str) -> list[int]:
    return list(tokenizer.chat.instruct_tokenizer.tokenizer.encode(text, bos=False, eos=False))


def fed(tokenizer: MistralTokenizer, portions: Sequence[Sequence[int]]) -> str:
    detokenizer = Detokenizer(tokenizer)
    return "".join(detokenizer.feed(ids).text for ids in portions) + detokenizer.finish().text


@pytest.mark.parametrize("version", ALL)
@pytest.mark.parametrize("text", TEXTS)
def test_text_comes_back_token_by_token(tokenizer_of: TokenizerOf, version: int | str, text: str) -> None:
    tokenizer = tokenizer_of(version)
    ids = encode(tokenizer, text)

    assert fed(tokenizer, [[token] for token in ids]) == text
    assert fed(tokenizer, [ids]) == text
    assert tokenizer.decode(ids) == text
    assert not set(ids) & set(tokenizer.added_tokens_decoder)


@pytest.mark.parametrize("version", [13, "sp7"])
def test_a_character_of_many_tokens_comes_when_it_is_whole(tokenizer_of: TokenizerOf, version: int | str) -> None:
    tokenizer = tokenizer_of(version)
    detokenizer = Detokenizer(tokenizer)

    texts = [detokenizer.feed([token]).text for token in encode(tokenizer, "a🌧b")]

    assert "".join(texts) == "a🌧b"
    assert "🌧" in texts
    assert texts.count("") > 0


def test_a_cut_character_becomes_one_replacement(tokenizer_of: TokenizerOf) -> None:
    tokenizer = tokenizer_of(13)
    cut, args = encode(tokenizer, "🌧")[:-1], added_tokens(tokenizer)["[ARGS]"]

    assert tokenizer.decode(cut) == "\N{REPLACEMENT CHARACTER}"
    assert tokenizer.decode([*cut, args]) == "\N{REPLACEMENT CHARACTER}[ARGS]"


def test_control_tokens_are_marks_at_their_offsets(tokenizer_of: TokenizerOf) -> None:
    tokenizer = tokenizer_of(11)
    tokens = added_tokens(tokenizer)
    detokenizer = Detokenizer(tokenizer)

    piece = detokenizer.feed([*encode(tokenizer, "Ü"), tokens["[TOOL_CALLS]"], *encode(tokenizer, "[ARGS]")])

    assert piece.text == "Ü[TOOL_CALLS][ARGS]"
    assert piece.marks == ((1, tokens["[TOOL_CALLS]"]),)


@pytest.mark.parametrize("version", ALL)
def test_every_control_token_is_special(tokenizer_of: TokenizerOf, version: int | str) -> None:
    tokenizer = tokenizer_of(version)
    tokens = added_tokens(tokenizer)

    assert {"<unk>", "<s>", "</s>", "[INST]", "[TOOL_CALLS]"} <= tokens.keys()
    assert special_token_ids(tokenizer) == set(tokens.values())
    assert tokens["</s>"] == tokenizer.eos_token_id
    assert tokenizer.decode([*tokens.values()]) == "".join(tokens)
    assert tokenizer.decode([*tokens.values()], skip_special_tokens=True) == ""


MARKERS = {
    3: {"[TOOL_CALLS]"},
    7: {"[TOOL_CALLS]"},
    11: {"[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"},
    13: {"[TOOL_CALLS]", "[ARGS]", "[CALL_ID]", "[THINK]", "[/THINK]"},
    "sp3": {"[TOOL_CALLS]"},
}


@pytest.mark.parametrize("version", MARKERS)
def test_the_parser_binds_the_markers_of_the_generation(tokenizer_of: TokenizerOf, version: int | str) -> None:
    tokenizer = tokenizer_of(version)
    parser = toolglot.load_parser("mistral", tokenizer=tokenizer)
    listed = parser.render([{"name": "f", "arguments": "{}"}]).startswith("[TOOL_CALLS][{")

    assert parser.marker_ids == {added_tokens(tokenizer)[marker] for marker in MARKERS[version]}
    assert listed == ("[ARGS]" not in MARKERS[version])


def test_the_whole_vocabulary_of_a_model_is_read() -> None:
    import mistral_common

    tokenizer = MistralTokenizer(Path(mistral_common.__file__).parent / "data" / "tekken_240911.json")

    assert len(tokenizer.token_table.texts) == 131072
    assert len(added_tokens(tokenizer)) == 1000
    assert tokenizer.decode(encode(tokenizer, TEXTS[2])) == TEXTS[2]


@pytest.mark.parametrize("content", ["", "{}", '{"config": {"version": "v99"}}'])
def test_a_broken_file_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "tekken.json"
    file.write_text(content)

    with pytest.raises(ModelError, match=r"mistral-common cannot load .*tekken\.json: \S"):
        MistralTokenizer(file)
