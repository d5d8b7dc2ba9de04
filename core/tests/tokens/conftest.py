import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

ADDED = ("<tool_call>", "</tool_call>", "<|im_end|>", "<｜begin▁of▁calls｜>")


def with_added(tokenizer: Tokenizer) -> Tokenizer:
    tokenizer.add_tokens([AddedToken(text, special=False) for text in ADDED[:2]])
    tokenizer.add_special_tokens([AddedToken(text, special=True) for text in ADDED[2:]])
    return tokenizer


@pytest.fixture(scope="session")
def byte_level() -> Tokenizer:
    """256 bytes, pieces of characters, and words."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    pieces = ["Ġthe", "Ġcat", "ä½", "å¥½", "ðŁ", "ðŁĺĢ", "½", "ĺ", "Ċ", "Ã©", "ĠĠ", "ÃĤ"]
    vocab = {text: number for number, text in enumerate(dict.fromkeys([*letters, *pieces]))}
    tokenizer = Tokenizer(models.BPE(vocab, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return with_added(tokenizer)


def sentencepiece(decoder) -> Tokenizer:
    """256 byte tokens and words, as SentencePiece has them."""
    words = ["▁", "▁▁", "▁the", "▁cat", "s", "a", "é", "日本", "▁▁x", "a▁b", "<0x", "<0xZZ>"]
    vocab = {text: number for number, text in enumerate([*(f"<0x{byte:02X}>" for byte in range(256)), *words])}
    tokenizer = Tokenizer(models.BPE(vocab, [], byte_fallback=True))
    tokenizer.decoder = decoder
    return with_added(tokenizer)


@pytest.fixture(scope="session")
def llama() -> Tokenizer:
    """Byte fallback, with one space stripped from the start of the text."""
    links = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    return sentencepiece(decoders.Sequence(links))


@pytest.fixture(scope="session")
def gemma() -> Tokenizer:
    """Byte fallback, with nothing stripped."""
    return sentencepiece(decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]))


@pytest.fixture(scope="session")
def metaspace() -> Tokenizer:
    """Metaspace, which drops the spaces of the first token."""
    return sentencepiece(decoders.Metaspace())


@pytest.fixture(scope="session", params=["byte_level", "llama", "gemma", "metaspace"])
def tokenizer(request) -> Tokenizer:
    return request.getfixturevalue(request.param)
