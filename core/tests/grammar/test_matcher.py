"""Taking tokens that may have to be given back, as speculative decoding does."""

import pytest
import torch

from toolglot.grammar import Compiler
from toolglot.structural_tag import ConstString, Optional, Sequence, StructuralTag, Token


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
