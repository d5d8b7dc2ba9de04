"""The token ids of a prompt that was cut into pieces, as far as there is room for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from toolglot.errors import PromptTooLongError, RequestError
from toolglot.vocabulary import special_token_ids

_PART = 64 * 1024
"""How many characters are encoded at a time: an encoder gives other threads no chance while it hands out its tokens."""
_PIECES = 1024
"""How many pieces, too."""
_PER_TOKEN = 4
"""From how many characters a token on a text is tried in parts before it is encoded."""
_AT_A_CUT = 8
"""How many tokens more a part may have than the same characters have within the whole text."""


def require_room(texts: Sequence[str], encode: Callable[[str], Sequence[int]], most: int) -> None:
    """Refuse texts that, encoded each by itself, are more than ``most`` tokens, without encoding much more than those.

    What it cannot be sure of, it lets pass.

    Raises:
        PromptTooLongError: they are.
    """
    if sum(map(len, texts)) <= max(_PART, _PER_TOKEN * most):
        return
    least = 0
    for text in texts:
        uncertain = _AT_A_CUT if len(text) > _PART else 0
        for at in range(0, len(text), _PART):
            least += max(0, len(encode(text[at : at + _PART])) - uncertain)
            if least > most:
                raise PromptTooLongError(least)


class PieceEncoder:
    """Encodes pieces of text one by one, so that no token reaches across a cut. Several threads may use it.

    From the second on, a piece is encoded behind a special token that is taken off again: some tokenizers put a space
    before the first word of a text, and these words are not first.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._anchor = _anchor(tokenizer)
        self._skipped = 1 if self._anchor else 0
        self._ids([""])  # brings the tokenizer's settings (padding, truncation) to ours; no thread changes them later

    def __call__(self, pieces: Sequence[str], most: int | None = None) -> tuple[int, ...]:
        """The ids of the pieces, joined; at most about ``most`` of them, if that is given.

        Raises:
            RequestError: the text is no valid Unicode.
            PromptTooLongError: there are more ids than ``most``, and not all of them were counted.
        """
        try:
            "".join(pieces).encode()
        except UnicodeEncodeError as error:
            raise RequestError(f"the request holds text that is no valid Unicode: {error}", param="messages") from error
        ids: list[int] = []
        for number, batch in enumerate(_batches(self._anchored(pieces))):
            if most is not None:
                self._require_room(batch, most, len(ids))
            first, *others = self._ids(batch)
            ids += first[self._skipped if number else 0 :]
            ids += chain.from_iterable(found[self._skipped :] for found in others)
        return tuple(ids)

    def _anchored(self, pieces: Iterable[str]) -> Iterator[str]:
        return (self._anchor + piece if number else piece for number, piece in enumerate(pieces))

    def _require_room(self, batch: Sequence[str], most: int, used: int) -> None:
        if used > most:
            raise PromptTooLongError(used)
        try:
            require_room(batch, lambda text: self._ids([text])[0], most - used)
        except PromptTooLongError as error:
            raise PromptTooLongError(used + error.at_least) from error

    def _ids(self, texts: list[str]) -> list[list[int]]:
        encoded = self._tokenizer(texts, add_special_tokens=False, return_attention_mask=False, verbose=False)
        return encoded["input_ids"]  # type: ignore[no-any-return]  # transformers is not typed


def _batches(pieces: Iterable[str]) -> Iterator[list[str]]:
    """The pieces, in lists of a bounded size; a long piece is alone."""
    batch: list[str] = []
    size = 0
    for piece in pieces:
        if batch and (size + len(piece) > _PART or len(batch) == _PIECES):
            yield batch
            batch, size = [], 0
        batch.append(piece)
        size += len(piece)
    if batch:
        yield batch


def _anchor(tokenizer: Any) -> str:
    """The text of a special token that leaves what follows it alone; empty if the tokenizer has none."""
    tokens = (tokenizer.added_tokens_decoder[number] for number in sorted(special_token_ids(tokenizer)))
    plain = (token.content for token in tokens if not (token.lstrip or token.rstrip or token.single_word))
    return next(plain, "")
