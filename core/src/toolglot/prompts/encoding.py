"""The token ids of a prompt that was cut into pieces."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

from toolglot.errors import RequestError
from toolglot.vocabulary import special_token_ids


class PieceEncoder:
    """Encodes pieces of text one by one, so that no token reaches across a cut.

    From the second on, a piece is encoded behind a special token that is taken off again: some tokenizers put a space
    before the first word of a text, and these words are not first.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._anchor = _anchor(tokenizer)

    def __call__(self, pieces: Sequence[str]) -> tuple[int, ...]:
        """The ids of the pieces, joined.

        Raises:
            RequestError: the text is no valid Unicode.
        """
        if not pieces:
            return ()
        try:
            "".join(pieces).encode()
        except UnicodeEncodeError as error:
            raise RequestError(f"the request holds text that is no valid Unicode: {error}", param="messages") from error
        first, *others = self._ids([pieces[0], *(self._anchor + piece for piece in pieces[1:])])
        skipped = 1 if self._anchor else 0
        return (*first, *chain.from_iterable(ids[skipped:] for ids in others))

    def _ids(self, texts: list[str]) -> list[list[int]]:
        encoded = self._tokenizer(texts, add_special_tokens=False, return_attention_mask=False, verbose=False)
        return encoded["input_ids"]  # type: ignore[no-any-return]  # transformers is not typed


def _anchor(tokenizer: Any) -> str:
    """The text of a special token that leaves what follows it alone; empty if the tokenizer has none."""
    tokens = (tokenizer.added_tokens_decoder[number] for number in sorted(special_token_ids(tokenizer)))
    plain = (token.content for token in tokens if not (token.lstrip or token.rstrip or token.single_word))
    return next(plain, "")
