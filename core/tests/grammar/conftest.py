from collections.abc import Callable

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<pad>")
MARKERS = ("<tool_call>", "</tool_call>", "<think>", "</think>")
WORDS = (
    "<tool_call>\n{", "</tool_call>\n<tool", "<think>\n\n", "</think>\n\n<tool", '{"name": "', '", "arguments": {"',
    "get_weather", "add", "city", "Paris", '"}}\n</tool', "]]}", "\n\n\n", ": 12", ", ",
    "true", "null", "é", "日本", "😀", "<<",
)  # fmt: skip


def build(markers: bool) -> Tokenizer:
    """Byte-level BPE of 256 bytes and some 120 longer tokens that cut across markers, JSON and characters."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = {letter: number for number, letter in enumerate(letters)}
    merges = []
    spell = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    for word in WORDS:
        ((spelled, _),) = spell.pre_tokenize_str(word)
        for length in range(2, len(spelled) + 1):
            if spelled[:length] not in vocab:
                vocab[spelled[:length]] = len(vocab)
                merges.append((spelled[: length - 1], spelled[length - 1]))
    tokenizer = Tokenizer(models.BPE(vocab, merges))
    tokenizer.pre_tokenizer = spell
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(text, special=True) for text in SPECIAL])
    if markers:
        tokenizer.add_tokens([AddedToken(text, special=False) for text in MARKERS])
    return tokenizer


@pytest.fixture(scope="session")
def tokenizers() -> Callable[[bool], Tokenizer]:
    """The small tokenizer, with the markers as text (False) or as tokens (True)."""
    built = {markers: build(markers) for markers in (False, True)}
    return built.__getitem__


@pytest.fixture
def text_tokenizer(tokenizers):
    return tokenizers(False)


@pytest.fixture
def token_tokenizer(tokenizers):
    return tokenizers(True)
