"""Which tokens may come next in one output."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from collections.abc import Sequence as Seq
from typing import Any, Final

import torch
import xgrammar
from msgspec import Struct

_SPELLED: Final = 128
"""How many characters of a forced text are spelled at a time: texts can be very long, and few tokens are wanted."""


class TokenSet(Struct, frozen=True):
    """Token ids, also packed as XGrammar packs its masks: token 32 i + k is bit k of word i."""

    ids: frozenset[int]
    words: torch.Tensor

    @classmethod
    def of(cls, token_ids: Iterable[int], vocab_size: int) -> TokenSet:
        ids = frozenset(token_ids)
        bits = torch.zeros(_words(vocab_size) * 32, dtype=torch.int64)
        bits[list(ids)] = 1
        return cls(ids, (bits.view(-1, 32) << torch.arange(32)).sum(1).to(torch.int32))


class Matcher:
    """Follows one output through a compiled tag. Not for several threads at once."""

    def __init__(
        self, grammar: Any, banned: TokenSet, stops: TokenSet, named: bool, spell: Callable[[str], Seq[int]]
    ) -> None:
        self._matcher = xgrammar.GrammarMatcher(grammar)
        self._vocab_size = grammar.tokenizer_info.vocab_size - 1  # the last one is XGrammar's own stop token
        self._banned = banned.ids
        self._stops = stops.ids
        self._usable_words = ~banned.words
        self._stop_words = stops.words
        self._named, self._spell = named, spell
        self._accepted = 0
        self._finished = False
        self._stopped = False
        """Whether the last token was a stop token, and none of the grammar's."""

    @property
    def finished(self) -> bool:
        """Whether a stop token ended the output. From then on nothing is masked, and nothing accepted."""
        return self._finished

    def mask(self, logits: torch.Tensor) -> None:
        """Set the logits of all tokens that may not come next to minus infinity, in place.

        ``logits`` is one row, [vocab_size], float32 or bfloat16, on the CPU or a CUDA device.
        """
        if logits.shape != (self._vocab_size,):
            raise ValueError(
                f"`logits` has shape {tuple(logits.shape)}; the grammar was compiled for ({self._vocab_size},)"
            )
        masks = Masks(logits[None])
        masks.fill(0, self)
        masks.apply()

    def fill(self, words: torch.Tensor, drafts: Seq[int] = ()) -> None:
        """Write the mask of the next token into ``words[0]``, and into each row after it that of the token after one
        more of ``drafts``. None of them is taken.

        Raises:
            ValueError: one of the drafts may not come where it is.
        """
        for row, token in zip(words, drafts, strict=False):
            self._fill(row)
            if not self.accept(token):
                raise ValueError(f"token {token} may not come here")
        self._fill(words[len(drafts)])
        self.rollback(len(drafts))

    def forced(self, most: int) -> list[int]:
        """Up to ``most`` tokens that spell what must come next. All may come; others may spell the same."""
        found: list[int] = []
        while len(found) < most and (tokens := self._forced_text() or self._forced_token()):
            taken = self.accept_many(tokens[: most - len(found)])
            found += tokens[:taken]
            if taken < len(tokens):
                break
        self.rollback(len(found))
        return found

    def accept(self, token_id: int) -> bool:
        """Take the next token of the output; False, and no change, if it may not come next.

        A stop token that is also a marker is one where the grammar wants it; if the output may end after it, it does.
        """
        if self._finished or not 0 <= token_id < self._vocab_size:
            return False
        complete = self._matcher.is_completed()
        stop = token_id in self._stops
        if token_id not in self._banned and self._matcher.accept_token(token_id):
            self._finished = stop and self._matcher.is_completed()
        elif stop and complete:
            self._finished = self._stopped = True
        else:
            return False
        self._accepted += 1
        return True

    def accept_many(self, token_ids: Iterable[int]) -> int:
        """Take tokens up to the first that may not come where it is; returns how many were taken."""
        taken = 0
        for token_id in token_ids:
            if not self.accept(token_id):
                break
            taken += 1
        return taken

    def rollback(self, count: int) -> None:
        """Give back the last ``count`` tokens, as if they had never been taken; a finished output goes on then.

        Raises:
            ValueError: fewer were taken.
        """
        if not 0 <= count <= self._accepted:
            raise ValueError(f"{count} tokens cannot be given back: {self._accepted} were taken")
        if count == 0:
            return
        if count > self._stopped:
            self._matcher.rollback(count - self._stopped)
        self._accepted -= count
        self._finished = self._stopped = False

    def _fill(self, words: torch.Tensor) -> None:
        if self._finished:
            words.fill_(-1)
            return
        self._matcher.fill_next_token_bitmask(words[None])
        words &= self._usable_words
        if self._matcher.is_completed():
            words |= self._stop_words

    def _forced_text(self) -> Seq[int]:
        text = self._matcher.find_jump_forward_string()[:_SPELLED]
        return text and (self._spell(text) or self._matcher.find_jump_forward_tokens())

    def _forced_token(self) -> Seq[int]:
        """The one token that is allowed, if it is one that the tag names: text is told by :meth:`_forced_text`."""
        if not self._named:
            return ()
        words = torch.empty_like(self._stop_words)
        self._fill(words)
        places = words.nonzero().flatten().tolist()
        word = int(words[places[0]]) & 0xFFFFFFFF if len(places) == 1 else 0
        token = 32 * places[0] + word.bit_length() - 1
        return (token,) if word.bit_count() == 1 and token not in self._stops else ()


class Masks:
    """The masks of rows of logits [rows, vocab_size], on the CPU or a CUDA device: filled one output after the other,
    and applied all at once.
    """

    def __init__(self, logits: torch.Tensor) -> None:
        self._logits = logits
        self._words = torch.empty((len(logits), _words(logits.shape[1])), dtype=torch.int32)
        self._rows: list[int] = []

    def fill(self, row: int, matcher: Matcher, drafts: Seq[int] = ()) -> None:
        """Make the masks of an output whose next token is chosen from ``row``, and those after its ``drafts`` from the
        rows that follow.

        Raises:
            ValueError: one of the drafts may not come where it is.
        """
        rows = range(row, row + 1 + len(drafts))
        matcher.fill(self._words[rows.start : rows.stop], drafts)
        self._rows += rows

    def apply(self) -> None:
        """Set the logits of tokens that may not come to minus infinity, in place."""
        if self._rows:
            words = self._words.to(self._logits.device, non_blocking=True)
            xgrammar.apply_token_bitmask_inplace(self._logits, words, indices=self._rows)


def _words(vocab_size: int) -> int:
    """Words of a mask over ``vocab_size`` tokens and XGrammar's stop token."""
    return vocab_size // 32 + 1
