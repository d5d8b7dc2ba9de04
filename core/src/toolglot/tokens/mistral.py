"""mistral-common's tokenizers: tekken, and SentencePiece before it. Importing this module needs mistral-common."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from mistral_common.tokens.tokenizers.base import SpecialTokenPolicy
from mistral_common.tokens.tokenizers.mistral import MistralTokenizer as ChatTokenizer
from mistral_common.tokens.tokenizers.tekken import is_tekkenizer
from msgspec import Struct

from toolglot.errors import ModelError
from toolglot.tokens.detokenizer import Detokenizer
from toolglot.tokens.table import TokenTable

_BYTE = re.compile(r"<0x([0-9A-F]{2})>")
_SPACE = "\N{LOWER ONE EIGHTH BLOCK}"


class ControlToken(Struct, frozen=True):
    """A token that no text becomes."""

    content: str
    special: bool = True


class MistralTokenizer:
    """A tokenizer of mistral-common, with what toolglot asks of a tokenizer. Its control tokens are its added tokens.

    ``file`` is a ``tekken.json``, or a SentencePiece model whose name ends in its version, as in
    ``tokenizer.model.v3``.

    Raises:
        ModelError: mistral-common cannot load the file.
    """

    def __init__(self, file: Path) -> None:
        try:
            self.chat = ChatTokenizer.from_file(file)
        except Exception as error:  # mistral-common raises whatever a broken tokenizer file makes it
            raise ModelError(f"mistral-common cannot load {file}: {str(error) or type(error).__name__}") from error
        self._tokens = self.chat.instruct_tokenizer.tokenizer
        self.version: int = int(self._tokens.version.value.removeprefix("v"))
        """The generation of prompts and calls: 1, 2, 3, 7, 11, 13, 15."""
        self.eos_token_id: int = self._tokens.eos_id

    @cached_property
    def added_tokens_decoder(self) -> dict[int, ControlToken]:
        """The control tokens, by id."""
        ids = sorted({*self._tokens.special_ids, self._tokens.unk_id})
        return {number: ControlToken(self._tokens.id_to_piece(number)) for number in ids}

    @cached_property
    def token_table(self) -> TokenTable:
        """The bytes of each token."""
        tekken = is_tekkenizer(self._tokens)
        spell = self._tekken_bytes if tekken else self._piece_bytes
        return TokenTable(
            texts=tuple(map(spell, range(self._tokens.n_words))),
            added=frozenset(self.added_tokens_decoder),
            opening={},
            strip=("", 0) if tekken else (" ", 1),
        )

    def encode(self, text: str, *, add_special_tokens: bool = True) -> list[int]:
        """The tokens of a text, behind the beginning of sequence or without it. No text becomes a control token."""
        ids: list[int] = self._tokens.encode(text, bos=add_special_tokens, eos=False)
        return ids

    def decode(self, ids: Sequence[int], *, skip_special_tokens: bool = False) -> str:
        """The text of these tokens; what is no UTF-8 becomes U+FFFD."""
        hidden = frozenset(self.added_tokens_decoder if skip_special_tokens else ())
        detokenizer = Detokenizer(self, hidden=hidden)
        return detokenizer.feed(ids).text + detokenizer.finish().text

    def _tekken_bytes(self, number: int) -> bytes:
        spelling: Any = self._tokens.id_to_byte_piece(number, SpecialTokenPolicy.KEEP)
        return bytes(spelling)

    def _piece_bytes(self, number: int) -> bytes:
        piece: str = self._tokens.id_to_piece(number)
        byte = _BYTE.fullmatch(piece)
        return bytes.fromhex(byte[1]) if byte else piece.replace(_SPACE, " ").encode()
