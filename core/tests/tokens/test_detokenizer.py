"""The pieces of any split are what the tokenizer decodes at once."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models
from transformers import PreTrainedTokenizerFast

from toolglot.checkpoints import load_tokenizer, resolve
from toolglot.errors import ModelError
from toolglot.tokens import Detokenizer

IDS = st.lists(st.integers(0, 299) | st.integers(250, 290), max_size=40)
CUTS = st.lists(st.integers(1, 6), min_size=1, max_size=40)


def pieces(tokenizer, ids, cuts=(1,), hidden=frozenset()):
    """The pieces when ``ids`` are fed in portions of these sizes, over and over."""
    detokenizer = Detokenizer(tokenizer, hidden=hidden)
    found, start, turn = [], 0, 0
    while start < len(ids):
        size = cuts[turn % len(cuts)]
        found.append(detokenizer.feed(ids[start : start + size]))
        start, turn = start + size, turn + 1
    return [*found, detokenizer.finish()]


def text(found):
    return "".join(piece.text for piece in found)


def marks(found):
    """(offset in the whole text, token id)."""
    starts = [sum(len(piece.text) for piece in found[:number]) for number in range(len(found))]
    return [
        (start + offset, token) for start, piece in zip(starts, found, strict=True) for offset, token in piece.marks
    ]


def decode(tokenizer, ids):
    return tokenizer.decode(ids, skip_special_tokens=False)


def has_broken_run(tokenizer, ids):
    """Whether a run of byte-fallback tokens is no UTF-8: ``decode`` then gives up the whole run."""
    known = [tokenizer.id_to_token(token) for token in ids if tokenizer.id_to_token(token) is not None]
    run = b""
    for name in [*known, ""]:
        if len(name) == 6 and name.startswith("<0x") and name != "<0xZZ>":
            run += bytes.fromhex(name[3:5])
        elif run.decode("utf-8", "replace").encode() != run:
            return True
        else:
            run = b""
    return False


def same_but_for_replacements(found, expected):
    return found.replace("\ufffd", "") == expected.replace("\ufffd", "")


@given(ids=IDS, cuts=CUTS)
@settings(max_examples=300, deadline=None)
def test_any_split_of_byte_level_tokens_is_what_decode_returns(byte_level, ids, cuts):
    assert text(pieces(byte_level, ids, cuts)) == decode(byte_level, ids)


@given(ids=IDS, cuts=CUTS)
@settings(max_examples=300, deadline=None)
def test_any_split_of_byte_fallback_tokens_is_what_decode_returns(llama, gemma, ids, cuts):
    for tokenizer in llama, gemma:
        if not has_broken_run(tokenizer, ids):
            assert text(pieces(tokenizer, ids, cuts)) == decode(tokenizer, ids)


WORDS = st.lists(st.integers(256, 271) | st.sampled_from([0x20, 0x41]), max_size=20)


@given(ids=WORDS, cuts=CUTS)
@settings(max_examples=200, deadline=None)
def test_spaces_at_the_start_are_treated_as_decode_treats_them(llama, gemma, ids, cuts):
    for tokenizer in llama, gemma:
        assert text(pieces(tokenizer, ids, cuts)) == decode(tokenizer, ids)


@given(ids=st.lists(st.integers(256, 271), max_size=20), cuts=CUTS)
@settings(max_examples=200, deadline=None)
def test_metaspace_tokens_are_what_decode_returns(metaspace, ids, cuts):
    assert text(pieces(metaspace, ids, cuts)) == decode(metaspace, ids)


@given(ids=st.lists(st.integers(0, 255) | st.just(262), max_size=20), cuts=CUTS)
@settings(max_examples=200, deadline=None)
def test_broken_utf8_differs_from_decode_only_in_what_is_replaced(llama, ids, cuts):
    found = text(pieces(llama, ids, cuts))

    raw = b"".join(bytes([token]) if token < 256 else "é".encode() for token in ids)
    assert found == raw.decode("utf-8", "replace").removeprefix(" ")
    if not has_broken_run(llama, ids):
        assert found == decode(llama, ids)


@given(ids=st.lists(st.integers(-(2**70), 2**70) | st.integers(-3, 400), max_size=20), cuts=CUTS)
@settings(max_examples=200, deadline=None)
def test_ids_that_the_tokenizer_does_not_have_stand_for_nothing(tokenizer, ids, cuts):
    known = [token for token in ids if 0 <= token < tokenizer.get_vocab_size()]

    assert text(pieces(tokenizer, ids, cuts)) == text(pieces(tokenizer, known))


@given(ids=IDS, cuts=CUTS)
@settings(max_examples=200, deadline=None)
def test_marks_point_at_the_text_of_every_added_token(tokenizer, ids, cuts):
    added = {token: each.content for token, each in tokenizer.get_added_tokens_decoder().items()}

    found = pieces(tokenizer, ids, cuts)

    whole = text(found)
    assert [token for _, token in marks(found)] == [token for token in ids if token in added]
    assert all(whole.startswith(_spelled(tokenizer, added[token], offset), offset) for offset, token in marks(found))
    assert all(offset + 1 <= len(piece.text) for piece in found for offset, _ in piece.marks)


def _spelled(tokenizer, name, offset):
    """SentencePiece's decoders read "▁" in an added token, too; Metaspace drops it from a first one."""
    if isinstance(tokenizer.decoder, decoders.ByteLevel):
        return name
    first = isinstance(tokenizer.decoder, decoders.Metaspace) and offset == 0
    return name.replace("▁", "" if first else " ")


@given(ids=IDS, cuts=CUTS)
@settings(max_examples=100, deadline=None)
def test_hidden_ids_give_no_text_and_no_mark(byte_level, ids, cuts):
    hidden = frozenset({byte_level.token_to_id("<|im_end|>"), 3, 65})

    found = pieces(byte_level, ids, cuts, hidden)

    rest = [token for token in ids if token not in hidden]
    assert text(found) == decode(byte_level, rest)
    assert not hidden & {token for _, token in marks(found)}


@given(ids=IDS, cuts=CUTS)
@settings(max_examples=50, deadline=None)
def test_each_piece_has_the_ids_that_were_fed(byte_level, ids, cuts):
    assert [token for piece in pieces(byte_level, ids, cuts) for token in piece.token_ids] == ids


def test_a_character_comes_when_its_last_byte_does(byte_level):
    ids = [byte_level.token_to_id(text) for text in ("a", "ä½", "ł", "ðŁ", "ĺ", "Ģ")]

    assert [piece.text for piece in pieces(byte_level, ids)] == ["a", "", "你", "", "", "😀", ""]


def test_a_cut_character_is_replaced_at_the_end(byte_level):
    detokenizer = Detokenizer(byte_level)

    assert detokenizer.feed([byte_level.token_to_id("ðŁ")]).text == ""
    assert detokenizer.finish().text == "\ufffd"


def test_a_cut_character_before_a_marker_is_replaced_before_it(byte_level):
    marker = byte_level.token_to_id("<tool_call>")

    piece = Detokenizer(byte_level).feed([byte_level.token_to_id("ðŁ"), marker])

    assert piece.text == "\ufffd<tool_call>"
    assert piece.marks == ((1, marker),)


def test_one_space_is_stripped_from_the_start_only(llama):
    cat, space = llama.token_to_id("▁cat"), llama.token_to_id("▁▁")

    assert [piece.text for piece in pieces(llama, [cat, cat])] == ["cat", " cat", ""]
    assert text(pieces(llama, [space, cat])) == "  cat"


def test_tokens_added_later_are_known(byte_level):
    tokenizer = Tokenizer.from_str(byte_level.to_str())
    Detokenizer(tokenizer)
    tokenizer.add_tokens(["<late>"])

    piece = Detokenizer(tokenizer).feed([tokenizer.token_to_id("<late>")])

    assert (piece.text, len(piece.marks)) == ("<late>", 1)


def test_a_transformers_tokenizer_is_taken_as_well(byte_level):
    wrapped = PreTrainedTokenizerFast(tokenizer_object=byte_level)
    ids = [65, byte_level.token_to_id("<|im_end|>"), 66]

    assert text(pieces(wrapped, ids)) == decode(byte_level, ids)


@pytest.mark.parametrize("decoder", [decoders.WordPiece(), decoders.Sequence([decoders.Strip(" ", 0, 1)]), None])
def test_a_decoder_that_is_not_known_is_an_error(decoder):
    tokenizer = Tokenizer(models.BPE({"a": 0}, []))
    if decoder is not None:
        tokenizer.decoder = decoder

    with pytest.raises(ModelError, match="decoder"):
        Detokenizer(tokenizer)


def test_what_is_no_fast_tokenizer_is_an_error():
    with pytest.raises(ModelError, match="object is no fast tokenizer"):
        Detokenizer(object())


@pytest.mark.model
def test_the_demo_models_tokens_at_any_split():
    tokenizer = load_tokenizer(resolve(None, quiet=True).path)
    rng = random.Random(0)
    added = sorted(tokenizer.added_tokens_decoder)
    for _ in range(300):
        ids = [rng.choice(added) if rng.random() < 0.2 else rng.randrange(len(tokenizer)) for _ in range(40)]
        found = pieces(tokenizer, ids, [rng.randint(1, 5) for _ in range(8)])
        whole = text(found)
        assert whole == tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)
        for offset, token in marks(found):
            assert whole.startswith(tokenizer.added_tokens_decoder[token].content, offset)
