"""How much of a text is encoded, and that it makes no difference to what there is room for."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from toolglot.errors import PromptTooLongError
from toolglot.prompts import Prompt, PromptRenderer, encoding, read_messages
from toolglot.prompts.encoding import PieceEncoder, require_room
from toolglot.requests import Request

PART = 100
MARKERS = "<|im_end|><tool_call>"
Render = Callable[..., Prompt]


class Counting:
    """A tokenizer that notes how many characters it is given."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self.characters = 0

    def __call__(self, texts: list[str], **options: Any) -> Any:
        self.characters += sum(map(len, texts))
        return self._tokenizer(texts, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tokenizer, name)


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "_PART", PART)
    monkeypatch.setattr(encoding, "_PIECES", 4)


@pytest.fixture
def counting(tokenizer) -> Counting:
    return Counting(tokenizer)


def render(tokenizer: Any, text: str, most: int | None = None) -> Prompt:
    messages = read_messages([{"role": "user", "content": text}])
    return PromptRenderer(tokenizer).render(Request(messages=messages), most_tokens=most)


@pytest.mark.parametrize("text", ["x" * 100_000, MARKERS * 5_000, "tool " * 20_000, "🌦" * 30_000])
def test_the_tokenizer_is_asked_no_more_when_there_is_no_room_left(text: str, counting: Counting, tokenizer) -> None:
    with pytest.raises(PromptTooLongError) as error:
        render(counting, text, most=500)

    assert 500 < error.value.at_least <= len(render(tokenizer, text).token_ids)
    assert counting.characters < 500 * encoding._PER_TOKEN + 2 * PART


@pytest.mark.parametrize("text", ["x" * 3_000, MARKERS * 100, "a " + MARKERS + "tool " * 900 + MARKERS, "🌦é" * 500])
def test_what_there_is_room_for_is_encoded_as_ever(
    text: str, tokenizer, metaspace_tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for one in (tokenizer, metaspace_tokenizer):
        prompt = render(one, text)
        assert render(one, text, most=len(prompt.token_ids)) == prompt
        with monkeypatch.context() as patch:
            patch.setattr(encoding, "_PART", 1 << 30)
            patch.setattr(encoding, "_PIECES", 1 << 30)
            assert render(one, text) == prompt


def test_a_text_that_has_few_tokens_for_its_length_is_not_refused(tokenizer) -> None:
    text = "tool" * 10_000  # of which a token is made
    assert len(text) > 10_010 * 3
    prompt = render(tokenizer, text)
    assert len(prompt.token_ids) < len(text) / 3
    assert render(tokenizer, text, most=len(prompt.token_ids)) == prompt


def test_several_texts_share_the_room() -> None:
    seen: list[str] = []

    def encode(text: str) -> list[int]:
        seen.append(text)
        return [0] * len(text)

    with pytest.raises(PromptTooLongError):
        require_room(["x" * 90] * 100, encode, 200)
    assert len(seen) == 3


def test_threads_share_a_tokenizer(make_tokenizer) -> None:
    tokenizer = make_tokenizer()
    tokenizer.backend_tokenizer.enable_truncation(5)
    tokenizer.backend_tokenizer.enable_padding()
    encoder = PieceEncoder(tokenizer)
    texts = [["tool " * number, MARKERS] for number in range(1, 60)]
    expected = [encoder(pieces) for pieces in texts]

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(encoder, texts)) == expected
    assert len(expected[-1]) > 59
