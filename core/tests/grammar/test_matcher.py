"""Taking tokens that may have to be given back, as speculative decoding does."""

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from toolglot.grammar import Compiler
from toolglot.grammar.matcher import Masks
from toolglot.structural_tag import ConstString, Optional, Regex, Sequence, StructuralTag, Tag, Token


@pytest.fixture
def follow(token_tokenizer):
    """``follow(format, stops)``: a matcher, and its mask as a set of tokens."""
    size = token_tokenizer.get_vocab_size()

    def make(fmt, stops=("<|im_end|>",)):
        ids = [token_tokenizer.token_to_id(stop) for stop in stops]
        matcher = Compiler(token_tokenizer, vocab_size=size, stop_token_ids=ids).compile(StructuralTag(fmt)).matcher()

        def mask() -> set[int]:
            logits = torch.zeros(size)
            matcher.mask(logits)
            return set((logits == 0).nonzero().flatten().tolist())

        return matcher, mask

    return make


def test_tokens_are_taken_up_to_the_first_that_does_not_fit(follow, token_tokenizer):
    a, b, c = (token_tokenizer.token_to_id(letter) for letter in "abc")
    matcher, mask = follow(ConstString("abab"))

    assert matcher.accept_many([a, b, c, a]) == 2
    assert mask() == {a}
    assert matcher.accept_many([]) == 0
    assert matcher.accept_many([a, b]) == 2


def test_tokens_given_back_were_never_taken(follow, token_tokenizer):
    a, b = (token_tokenizer.token_to_id(letter) for letter in "ab")
    matcher, mask = follow(ConstString("abab"))
    masks = []
    for token in (a, b, a, b):
        masks.append(mask())
        assert matcher.accept(token)

    matcher.rollback(0)
    for taken in (3, 2, 1, 0):
        matcher.rollback(1)
        assert mask() == masks[taken]
    assert matcher.accept_many([a, b, a, b]) == 4
    matcher.rollback(4)
    assert mask() == masks[0]


def test_an_output_that_a_stop_token_ended_goes_on_when_it_is_given_back(follow, token_tokenizer):
    a, stop = token_tokenizer.token_to_id("a"), token_tokenizer.token_to_id("<|im_end|>")
    matcher, mask = follow(Sequence((ConstString("a"), Optional(ConstString("a")))))
    assert matcher.accept_many([a, stop, a]) == 2
    assert matcher.finished

    matcher.rollback(1)

    assert not matcher.finished
    assert mask() == {a, stop}
    assert matcher.accept_many([a, stop]) == 2
    matcher.rollback(2)
    assert mask() == {a, stop}
    matcher.rollback(1)
    assert mask() == {a}


def test_a_stop_token_that_is_a_marker_is_given_back_too(follow, token_tokenizer):
    a, closer = token_tokenizer.token_to_id("a"), token_tokenizer.token_to_id("</think>")
    matcher, mask = follow(Sequence((ConstString("a"), Token(closer))), stops=("<|im_end|>", "</think>"))
    assert matcher.accept_many([a, closer]) == 2
    assert matcher.finished

    matcher.rollback(1)

    assert (matcher.finished, mask()) == (False, {closer})
    assert matcher.accept(closer)
    assert matcher.finished
    matcher.rollback(2)
    assert mask() == {a}


@pytest.mark.parametrize("count", [-1, 3])
def test_no_more_can_be_given_back_than_was_taken(follow, token_tokenizer, count):
    a = token_tokenizer.token_to_id("a")
    matcher, mask = follow(ConstString("aaa"))
    assert matcher.accept_many([a, a]) == 2

    with pytest.raises(ValueError, match="2 were taken"):
        matcher.rollback(count)
    assert mask() == {a}


def test_what_is_forced_is_spelled_as_the_tokenizer_spells_it(follow, token_tokenizer):
    begin, end = (token_tokenizer.token_to_id(marker) for marker in ("<tool_call>", "</tool_call>"))
    text = '{"name": "get_weather", "arguments": {"city": "'
    matcher, mask = follow(
        Tag(Token(begin), Sequence((ConstString(text), Regex("[a-z]"), ConstString(text))), Token(end))
    )
    first = mask()
    spelled = token_tokenizer.encode(text).ids

    assert matcher.forced(100) == [begin, *spelled]
    assert matcher.forced(3) == [begin, *spelled[:2]]
    assert matcher.forced(0) == []
    assert mask() == first == {begin}
    matcher.accept_many([begin, *spelled])
    assert matcher.forced(100) == []  # a letter, and none is forced
    matcher.accept(token_tokenizer.token_to_id("a"))
    assert matcher.forced(100) == [*spelled, end]  # the stop token after it is no guess: nothing follows it
    matcher.accept_many([*spelled, end])
    assert matcher.forced(100) == []


def test_a_text_that_the_tokenizer_begins_with_a_space_is_spelled_without_it(follow, text_tokenizer):
    metaspace = Tokenizer(
        models.BPE({"▁": 0, "a": 1, "b": 2, "ab": 3, "▁a": 4, "<|im_end|>": 5}, [("▁", "a"), ("a", "b")])
    )
    metaspace.pre_tokenizer, metaspace.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    metaspace.add_special_tokens(["<|im_end|>"])
    matcher = (
        Compiler(metaspace, vocab_size=6, stop_token_ids=[5]).compile(StructuralTag(ConstString("abab"))).matcher()
    )

    assert matcher.forced(9) == [3, 3]


def test_masks_of_many_rows_are_filled_apart_and_applied_together(follow, token_tokenizer):
    size = token_tokenizer.get_vocab_size()
    a, b, c, stop = (token_tokenizer.token_to_id(token) for token in ("a", "b", "c", "<|im_end|>"))
    one, one_mask = follow(ConstString("abab"))
    other, _ = follow(ConstString("c"))
    logits = torch.zeros(5, size)
    masks = Masks(logits)
    masks.fill(1, one, [a, b])
    with pytest.raises(ValueError, match=f"token {a} may not come here"):
        masks.fill(4, other, [a])
    masks.apply()

    allowed = [set((row == 0).nonzero().flatten().tolist()) for row in logits]
    assert allowed == [{*range(size)}, {a}, {b}, {a}, {*range(size)}]
    assert one_mask() == {a}
    other.accept_many([c, stop])
    masks = Masks(logits)
    masks.fill(0, other)
    masks.apply()
    assert (logits[0] == 0).all()
