"""Writing outputs as the worst of models would: with any token that the grammar allows (law L5, ``nox -s strict``).

Needs ``[grammar]``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from random import Random
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from toolglot.grammar import Compiler, Matcher
from toolglot.requests import Delta
from toolglot.structural_tag import StructuralTag
from toolglot.tokens import Detokenizer
from toolglot.vocabulary import added_tokens

Tokens: TypeAlias = NDArray[np.bool_]
"""A set of tokens: whether each is in it."""

_STOP, _OTHER = "<|stop|>", "<|other|>"
_PATIENCE, _LIMIT = 80, 400
_HASTE = 0.8
"""How likely an output that is late takes a token that may end it, and how likely another one does (``_CALM``)."""
_CALM = 0.15
_MALICE = 0.5
"""How likely the worst of models takes a token of a bad kind where the grammar allows any."""
_ENDING = frozenset('"}])>')
_LONGEST, _STEP = 24, 5


def vocabulary(texts: Iterable[str], tokens: Iterable[str], *, whole: Iterable[str] = ()) -> Tokenizer:
    """A byte-level vocabulary of all bytes and beginnings of words of ``texts``; ``tokens`` are added tokens in it.

    ``whole`` are texts that are in it from their beginning only, however long.
    """
    spell = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    vocab = {letter: number for number, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    merges: list[tuple[str, str]] = []
    for piece in _pieces(spell, texts, whole):
        if piece not in vocab:
            vocab[piece] = len(vocab)
            merges.append((piece[:-1], piece[-1]))
    tokenizer = Tokenizer(models.BPE(vocab, merges))
    tokenizer.pre_tokenizer = spell
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(text, special=True) for text in (_STOP, _OTHER)])
    tokenizer.add_tokens([AddedToken(text, special=False) for text in tokens])
    return tokenizer


def _pieces(spell: pre_tokenizers.ByteLevel, texts: Iterable[str], whole: Iterable[str]) -> Iterator[str]:
    """What is a token, spelled as such vocabularies spell bytes; every one after what it begins with."""
    for text in texts:
        ((spelled, _),) = spell.pre_tokenize_str(text)
        for start in range(0, len(spelled), _STEP):
            yield from (spelled[start:end] for end in range(start + 2, min(start + _LONGEST, len(spelled)) + 1))
    for text in whole:
        ((spelled, _),) = spell.pre_tokenize_str(text)
        yield from (spelled[:end] for end in range(2, len(spelled) + 1))


class DeadEndError(Exception):
    """The grammar allows no token: the output can neither go on nor end."""


class Sampler:
    """Writes outputs under structural tags with the tokens of one vocabulary.

    An output that has had ``patience`` choices is brought to its end, and given up when it has ``limit`` tokens.
    """

    def __init__(
        self, tokenizer: Tokenizer, markers: Iterable[str], *, patience: int = _PATIENCE, limit: int = _LIMIT
    ) -> None:
        self._markers = frozenset(markers)
        self._tokenizer = tokenizer
        self._patience, self._limit = patience, limit
        self._stop = added_tokens(tokenizer)[_STOP]
        self._size = tokenizer.get_vocab_size(with_added_tokens=True)
        self._compiler = Compiler(tokenizer, vocab_size=self._size, stop_token_ids=[self._stop])
        self._logits = torch.zeros(self._size)

    def outputs(self, tag: StructuralTag, count: int) -> Iterator[list[Delta]]:
        """Up to ``count`` outputs that came to an end, as deltas of a token each."""
        for seed in range(count):
            deltas = self.output(tag, Random(seed))  # noqa: S311  # nothing secret
            if deltas is not None:
                yield deltas

    def output(self, tag: StructuralTag, random: Random, *, worst: bool = False) -> list[Delta] | None:
        """One output as deltas of a token each, or None where it came to no end.

        ``worst``: it is written with closers, markers, line breaks and digits wherever the grammar allows one.

        Raises:
            GrammarError: the tag does not compile.
            DeadEndError: the grammar comes to where it allows nothing.
        """
        tokens = self._tokens(self._compiler.compile(tag).matcher(), random, worst)
        return None if tokens is None else self._deltas(tokens)

    def admits(self, tag: StructuralTag, text: str) -> bool:
        """Whether ``text`` is a whole output under ``tag``."""
        matcher = self._compiler.compile(tag).matcher()
        tokens = self._tokenizer.encode(text, add_special_tokens=False).ids
        return all(matcher.accept(number) for number in (*tokens, self._stop))

    @cached_property
    def _endings(self) -> list[Tokens]:
        """The tokens that bring an output to its end, the surest first: the stop token, markers, closing signs."""
        kinds = (
            lambda text: text == _STOP,
            lambda text: text.strip() in self._markers,
            lambda text: bool(text) and _ENDING.issuperset(text),
        )
        return [self._of(kind) for kind in kinds]

    @cached_property
    def _bad(self) -> list[Tokens]:
        """The kinds of tokens that most often end what they should not, or never end what they should."""
        return [*self._endings, self._of(lambda text: "\n" in text), self._of(str.isdecimal)]

    def _of(self, kind: Callable[[str], bool]) -> Tokens:
        """The tokens whose texts are of a kind."""
        texts = (self._tokenizer.decode([number], skip_special_tokens=False) for number in range(self._size))
        return np.fromiter(map(kind, texts), dtype=np.bool_, count=self._size)

    def _tokens(self, matcher: Matcher, random: Random, worst: bool) -> list[int] | None:
        tokens: list[int] = []
        choices = 0
        while not matcher.finished:
            if len(tokens) == self._limit:
                return None
            allowed = self._allowed(matcher)
            choices += int(np.count_nonzero(allowed)) > 1
            tokens.append(self._pick(allowed, random, late=choices > self._patience, worst=worst))
            assert matcher.accept(tokens[-1]), f"the mask allowed {tokens[-1]}, the matcher did not"
        return tokens[:-1]

    def _allowed(self, matcher: Matcher) -> Tokens:
        self._logits.zero_()
        matcher.mask(self._logits)
        allowed: Tokens = self._logits.numpy() == 0
        return allowed

    def _pick(self, allowed: Tokens, random: Random, *, late: bool, worst: bool) -> int:
        for ending in self._endings:
            if random.random() < (_HASTE if late else _CALM) and (allowed & ending).any():
                return _one(allowed & ending, random)
        if worst and random.random() < _MALICE and (bad := allowed & random.choice(self._bad)).any():
            return _one(bad, random)
        return _one(allowed, random)

    def _deltas(self, tokens: list[int]) -> list[Delta]:
        detokenizer = Detokenizer(self._tokenizer)
        pieces = [detokenizer.feed([number]) for number in tokens] + [detokenizer.finish()]
        return [Delta(piece.text, piece.token_ids, piece.marks) for piece in pieces]


def _one(tokens: Tokens, random: Random) -> int:
    """Any of the tokens. Raises DeadEndError where there is none."""
    found = np.flatnonzero(tokens)
    if not found.size:
        raise DeadEndError("no token may come next")
    return int(found[random.randrange(found.size)])
