"""The choice of the next tokens of many sequences, from the logits of one forward pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import torch

from toolglot.engine.drafts import History, PromptLookup, guess
from toolglot.engine.logits import LogitsProcessor
from toolglot.engine.model import Model
from toolglot.engine.protocol import SamplingParams, Speculation, TokenDelta, TokenLogprobs
from toolglot.engine.sampler import sample, token_logprobs
from toolglot.engine.scheduler import Piece
from toolglot.engine.sequence import Sequence
from toolglot.errors import EngineError


class Chooser:
    """Chooses tokens for one model, which ends outputs with ``stop_ids``. ``lookup`` says how tokens that no grammar
    forces are guessed, if at all.
    """

    def __init__(self, model: Model, stop_ids: frozenset[int], lookup: PromptLookup | None) -> None:
        self._device, self._vocab_size = model.device, model.vocab_size
        self._stop_ids, self._lookup = stop_ids, lookup

    def prepare(self, sequence: Sequence) -> None:
        """Guess which tokens come next; before the first pass that ends in one, also make what chooses them."""
        if sequence.generator is None:
            self._equip(sequence)
        if sequence.matcher is not None or sequence.history is not None:
            sequence.drafts = guess(sequence)

    @torch.inference_mode()
    def prepare_masks(self, sequence: Sequence) -> None:
        """As :meth:`prepare`, in a thread of its caller's; and let its grammar make the masks that the pass needs."""
        self.prepare(sequence)
        drafts = sequence.drafts.tokens
        words = torch.empty((1 + len(drafts), self._vocab_size // 32 + 1), dtype=torch.int32)
        sequence.matcher.fill(words, drafts)

    def choose(self, piece: Piece, logits: torch.Tensor) -> TokenDelta:
        """Append the tokens that come after a piece to its sequence, and return what is said of them.

        ``logits`` are those after the piece and, before it, after the tokens that its drafts follow [1 + drafts,
        vocab_size]. The first token that differs from its draft is the last one: what follows was computed for another.
        """
        sequence, chosen = piece.sequence, []
        for row, draft in zip(logits, [*sequence.drafts.tokens[: piece.drafts], None], strict=True):
            chosen.append(self._one(sequence, row))
            token = chosen[-1][0]
            sequence.tokens.append(token)
            sequence.generated += 1
            if token != draft or sequence.room == 0 or self._is_over(sequence, token):
                break
        return self._told(sequence, piece.drafts, chosen)

    def _equip(self, sequence: Sequence) -> None:
        sequence.generator = torch.Generator(self._device).manual_seed(sequence.seed)
        if sequence.constraint is not None:
            sequence.matcher = sequence.constraint.matcher()
        if self._lookup is not None:
            sequence.history = History(self._lookup)
        if LogitsProcessor.wanted(sampling := sequence.sampling):
            sequence.processor = LogitsProcessor(
                sampling, sequence.tokens, self._stops(sampling), self._vocab_size, self._device
            )

    def _one(self, sequence: Sequence, logits: torch.Tensor) -> tuple[int, TokenLogprobs | None]:
        changed = logits if sequence.processor is None else sequence.processor(logits)
        token = sample(changed, sequence.sampling, sequence.generator)
        if sequence.matcher is not None and not sequence.matcher.accept(token):
            raise EngineError(f"the grammar rejected token {token}, which its own mask allowed")
        if sequence.processor is not None:
            sequence.processor.accept(token)
        count = sequence.sampling.logprobs
        return token, None if count is None else token_logprobs(logits, token, count)

    def _told(self, sequence: Sequence, drafts: int, chosen: list[tuple[int, TokenLogprobs | None]]) -> TokenDelta:
        last = chosen[-1][0]
        over = self._is_over(sequence, last)
        stopped = over and last in self._stops(sequence.sampling)
        told = chosen[:-1] if stopped else chosen
        return TokenDelta(
            tuple(token for token, _ in told),
            finish="stop" if over else "length" if sequence.room == 0 else None,
            stop_token=last if stopped else None,
            logprobs=tuple(logprobs for _, logprobs in told if logprobs is not None),
            cached_tokens=(sequence.cached or 0) if sequence.generated == len(chosen) else 0,
            speculation=Speculation(sequence.drafts.kind, drafts, len(chosen) - 1) if drafts else None,
        )

    def _is_over(self, sequence: Sequence, token: int) -> bool:
        sampling = sequence.sampling
        if token in sampling.stop_token_ids:
            return True
        if sequence.matcher is not None:  # within a grammar a stop token can also be a marker
            return bool(sequence.matcher.finished)
        return token in self._stop_ids and not sampling.ignore_eos

    def _stops(self, sampling: SamplingParams) -> frozenset[int]:
        return self._stop_ids | sampling.stop_token_ids


def mask(
    pieces: Iterable[tuple[Piece, int]], logits: torch.Tensor, guarded: Callable[[Sequence, Callable[[], None]], object]
) -> None:
    """Forbid what grammars forbid, in place. Each piece comes with the first of its rows in ``logits``; ``guarded``
    does what is for one sequence.

    On CUDA this is done while the logits are still being computed: only their shape is looked at.
    """
    masks: Any = None
    for piece, row in pieces:
        if (matcher := piece.sequence.matcher) is not None:
            masks = masks or _masks(logits)
            drafts = piece.sequence.drafts.tokens[: piece.drafts]
            guarded(piece.sequence, partial(masks.fill, row, matcher, drafts))
    if masks is not None:
        masks.apply()


def _masks(logits: torch.Tensor) -> Any:
    from toolglot.grammar.matcher import Masks  # XGrammar is there if there is a grammar

    return Masks(logits)
