"""What parsing must know of a tokenizer: its added tokens, the ones that can be markers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def added_tokens(tokenizer: Any) -> dict[str, int]:
    """Map the text of each added token to its id.

    ``tokenizer`` is one of transformers' or tokenizers', another with their ``added_tokens_decoder``, or already such a
    mapping; None has none.

    Raises:
        TypeError: it is none of these.
    """
    if tokenizer is None:
        return {}
    if isinstance(tokenizer, Mapping):
        return dict(tokenizer)
    return {token.content: number for number, token in _decoder(tokenizer).items()}


def special_token_ids(tokenizer: Any) -> frozenset[int]:
    """The ids of the added tokens that are flagged special: those that never belong in an answer's text."""
    if tokenizer is None or isinstance(tokenizer, Mapping):
        return frozenset()
    return frozenset(number for number, token in _decoder(tokenizer).items() if token.special)


def _decoder(tokenizer: Any) -> Mapping[int, Any]:
    if hasattr(tokenizer, "added_tokens_decoder"):  # transformers
        return tokenizer.added_tokens_decoder  # type: ignore[no-any-return]  # its own type is not installed with core
    if hasattr(tokenizer, "get_added_tokens_decoder"):  # tokenizers
        return tokenizer.get_added_tokens_decoder()  # type: ignore[no-any-return]  # as above
    raise TypeError(f"{type(tokenizer).__name__} is no tokenizer of transformers or tokenizers")
