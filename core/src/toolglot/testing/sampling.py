"""Writing outputs as a model would that picks any token which the grammar allows (law L5). Needs ``[grammar]``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from random import Random

import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from toolglot.grammar import Compiler, Matcher
from toolglot.requests import Delta
from toolglot.structural_tag import StructuralTag
from toolglot.tokens import Detokenizer
from toolglot.vocabulary import added_tokens

_STOP, _OTHER = "<|stop|>", "<|other|>"
_PATIENCE, _LIMIT = 80, 400
"""After how many tokens an output is brought to its end, and at which length it is given up."""
_ENDING = frozenset('"}])>')
_LONGEST = 24


def vocabulary(texts: Iterable[str], tokens: Iterable[str]) -> Tokenizer:
    """A byte-level vocabulary of all bytes and beginnings of words of ``texts``; ``tokens`` are added tokens in it."""
    spell = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    vocab = {letter: number for number, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    merges: list[tuple[str, str]] = []
    for text in texts:
        ((spelled, _),) = spell.pre_tokenize_str(text)
        for start in range(0, len(spelled), 5):
            for end in range(start + 2, min(start + _LONGEST, len(spelled)) + 1):
                if spelled[start:end] not in vocab:
                    vocab[spelled[start:end]] = len(vocab)
                    merges.append((spelled[start : end - 1], spelled[end - 1]))
    tokenizer = Tokenizer(models.BPE(vocab, merges))
    tokenizer.pre_tokenizer = spell
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(text, special=True) for text in (_STOP, _OTHER)])
    tokenizer.add_tokens([AddedToken(text, special=False) for text in tokens])
    return tokenizer


class Sampler:
    """Writes outputs under structural tags with the tokens of one vocabulary."""

    def __init__(self, tokenizer: Tokenizer, markers: Iterable[str]) -> None:
        self._markers = frozenset(markers)
        self._tokenizer = tokenizer
        self._stop = added_tokens(tokenizer)[_STOP]
        self._size = tokenizer.get_vocab_size(with_added_tokens=True)
        self._compiler = Compiler(tokenizer, vocab_size=self._size, stop_token_ids=[self._stop])

    def outputs(self, tag: StructuralTag, count: int) -> Iterator[list[Delta]]:
        """Up to ``count`` outputs that came to an end, as deltas of a token each."""
        compiled = self._compiler.compile(tag)
        for seed in range(count):
            tokens = self._tokens(compiled.matcher(), Random(seed))  # noqa: S311  # nothing secret
            if tokens is not None:
                yield self._deltas(tokens)

    def admits(self, tag: StructuralTag, text: str) -> bool:
        """Whether ``text`` is a whole output under ``tag``."""
        matcher = self._compiler.compile(tag).matcher()
        tokens = self._tokenizer.encode(text, add_special_tokens=False).ids
        return all(matcher.accept(number) for number in (*tokens, self._stop))

    @cached_property
    def _endings(self) -> list[set[int]]:
        """The tokens that bring an output to its end, the surest first: the stop token, markers, closing signs."""
        texts = {number: self._tokenizer.decode([number], skip_special_tokens=False) for number in range(self._size)}
        markers = {number for number, text in texts.items() if text in self._markers}
        signs = {number for number, text in texts.items() if text and _ENDING.issuperset(text)}
        return [{self._stop}, markers, signs]

    def _tokens(self, matcher: Matcher, random: Random) -> list[int] | None:
        tokens: list[int] = []
        while not matcher.finished:
            if len(tokens) == _LIMIT:
                return None
            tokens.append(self._pick(self._allowed(matcher), random, late=len(tokens) > _PATIENCE))
            assert matcher.accept(tokens[-1]), f"the mask allowed {tokens[-1]}, the matcher did not"
        return tokens[:-1]

    def _allowed(self, matcher: Matcher) -> set[int]:
        logits = torch.zeros(self._size)
        matcher.mask(logits)
        return set(torch.isfinite(logits).nonzero().flatten().tolist())

    def _pick(self, allowed: set[int], random: Random, *, late: bool) -> int:
        for ending in self._endings:
            if (chosen := allowed & ending) and random.random() < (0.8 if late else 0.15):
                return random.choice(sorted(chosen))
        return random.choice(sorted(allowed))

    def _deltas(self, tokens: list[int]) -> list[Delta]:
        detokenizer = Detokenizer(self._tokenizer)
        pieces = [detokenizer.feed([number]) for number in tokens] + [detokenizer.finish()]
        return [Delta(piece.text, piece.token_ids, piece.marks) for piece in pieces]
