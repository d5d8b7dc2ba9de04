"""Probabilities of tokens in OpenAI's form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from toolglot.server.chat.protocol import Logprobs, TokenLogprob, TopLogprob
from toolglot.server.content_tokens import ContentToken


def logprobs(tokens: Iterable[ContentToken], texts: Sequence[bytes]) -> Logprobs:
    """These tokens, with ``texts`` by token id."""
    return Logprobs(tuple(_token(token, texts) for token in tokens))


def token_bytes(token: int, texts: Sequence[bytes]) -> bytes:
    """What a token stands for: nothing, if only the model's logits have it, and not the tokenizer."""
    return texts[token] if token < len(texts) else b""


def _token(token: ContentToken, texts: Sequence[bytes]) -> TokenLogprob:
    top = tuple(_top(other, logprob, texts) for other, logprob in token.logprobs.top)
    text = token_bytes(token.token_id, texts)
    return TokenLogprob(shown(text), token.logprobs.logprob, tuple(text), top)


def _top(token: int, logprob: float, texts: Sequence[bytes]) -> TopLogprob:
    text = token_bytes(token, texts)
    return TopLogprob(shown(text), logprob, tuple(text))


def shown(text: bytes) -> str:
    """The text of a token, as far as it is UTF-8."""
    return text.decode("utf-8", "replace")
