"""The replay engine: it has no weights, and writes prepared outputs token by token."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Sequence
from typing import Any

from toolglot.backends.playlist import Playlist
from toolglot.backends.prepared import PreparedOutput
from toolglot.engine.grammars import LateGrammars
from toolglot.engine.protocol import Constraint, ModelInfo, SamplingParams, TokenDelta, TokenLogprobs
from toolglot.errors import EngineError, GrammarError, QueueFullError
from toolglot.structural_tag import StructuralTag
from toolglot.tokens.table import token_table

_SHOWN = 40
"""How many characters of an output an error quotes."""


class ReplayEngine:
    """Replays ``outputs`` through ``tokenizer``.

    Sampling changes nothing but where an output is cut (``max_tokens``, ``stop_token_ids``). A grammar holds an output
    as it would a model: one that breaks it is an EngineError, unless it is ``unchecked``.

    Args:
        name: The model's name in :attr:`info`.
        max_model_len: The longest prompt and output together, in tokens.
        max_running: How many requests may run at once; there is no queue.
    """

    def __init__(
        self, outputs: Iterable[PreparedOutput], tokenizer: Any, *, name: str, max_model_len: int, max_running: int
    ) -> None:
        self._playlist = Playlist(outputs)
        self._tokenizer = tokenizer
        self._max_running = max_running
        self._stop: int | None = tokenizer.eos_token_id
        self.alive = False
        self.running = 0
        self.stats = None
        self.info = ModelInfo(
            name=name,
            max_model_len=max_model_len,
            vocab_size=len(token_table(tokenizer).texts),
            stop_token_ids=frozenset({self._stop} - {None}),
        )
        self._grammars = LateGrammars(tokenizer, self.info)

    @property
    def ready(self) -> bool:
        """Whether it is started: it fails only where that is prepared."""
        return self.alive

    async def start(self) -> None:
        """Be ready."""
        self.alive = True

    async def stop(self) -> None:
        """End what compiles grammars."""
        self.alive = False
        await self._grammars.stop()

    async def compile(self, tag: StructuralTag) -> Constraint:
        """Compile a tag, within limits; as :meth:`toolglot.engine.protocol.Engine.compile`.

        Raises:
            GrammarError: also where the tokenizer names no token that ends a reply.
        """
        if self._stop is None:
            raise GrammarError("the tokenizer names no token that ends a reply, so no grammar can be compiled")
        return await self._grammars.compile(tag)

    def submit(
        self, prompt: Sequence[int], sampling: SamplingParams, constraint: Constraint | None = None
    ) -> AsyncGenerator[TokenDelta, None]:
        """The next output, token by token.

        Raises:
            QueueFullError: as many run as may.
            EngineError: no output is for this prompt; later, from the stream: it breaks its grammar, or is to fail.
        """
        if self.running >= self._max_running:
            raise QueueFullError(retry_after=1)
        text = self._decode(prompt) if self._playlist.reads_prompts else ""
        output = self._playlist.next(text)
        if output is None:
            raise EngineError("no prepared output is for this prompt: none has a `match` that is in it, or has none")
        return self._replay(output, sampling, constraint)

    async def _replay(
        self, output: PreparedOutput, sampling: SamplingParams, constraint: Any
    ) -> AsyncGenerator[TokenDelta, None]:
        self.running += 1
        try:
            token_ids, finish = self._cut(self._encode(output), output.finish, sampling)
            check = _Check(self._tokenizer, None if output.unchecked else constraint)
            for step in output.steps(token_ids):
                await asyncio.sleep(output.delay)
                check.take(step)
                yield TokenDelta(step, logprobs=_certain(step, sampling.logprobs))
            if output.error is not None:
                raise EngineError(output.error)
            if finish == "stop":
                check.end(self._stop)
            yield TokenDelta((), finish)
        finally:
            self.running -= 1

    def _encode(self, output: PreparedOutput) -> Sequence[int]:
        if not isinstance(output.output, str):
            return output.output
        token_ids: Sequence[int] = self._tokenizer.encode(output.output, add_special_tokens=False)
        return token_ids

    def _cut(self, token_ids: Sequence[int], finish: Any, sampling: SamplingParams) -> tuple[Sequence[int], Any]:
        """What there is room for, before a token that the request stops at; and why it ends there."""
        stops = (place for place, token in enumerate(token_ids) if token in sampling.stop_token_ids)
        end = next(stops, None)
        if end is not None and end < sampling.max_tokens:
            return token_ids[:end], "stop"
        if len(token_ids) >= sampling.max_tokens:
            return token_ids[: sampling.max_tokens], "length"
        return token_ids, finish

    def _decode(self, token_ids: Sequence[int]) -> str:
        text: str = self._tokenizer.decode(token_ids, skip_special_tokens=False)
        return text


class _Check:
    """Follows an output through its grammar, where it has one."""

    def __init__(self, tokenizer: Any, constraint: Any) -> None:
        self._tokenizer = tokenizer
        self._matcher = constraint and constraint.matcher()
        self._taken: list[int] = []

    def take(self, token_ids: Iterable[int]) -> None:
        """The next tokens. Raises EngineError: one may not come there."""
        if self._matcher is None:
            return
        for token in token_ids:
            if not self._matcher.accept(token):
                raise EngineError(self._broken(f"{self._tokenizer.decode([token])!r} may not come"))
            self._taken.append(token)

    def end(self, stop: int | None) -> None:
        """The end of the output. Raises EngineError: it may not end there."""
        if self._matcher is not None and not self._matcher.finished and not self._matcher.accept(stop):
            raise EngineError(self._broken("it may not end"))

    def _broken(self, what: str) -> str:
        text = self._tokenizer.decode(self._taken, skip_special_tokens=False)
        where = f"after {text[-_SHOWN:]!r} ({len(self._taken)} tokens)" if text else "at its beginning"
        return f"the prepared output breaks this request's grammar: {where} {what}; `unchecked` lets it"


def _certain(token_ids: Sequence[int], asked: int | None) -> tuple[TokenLogprobs, ...]:
    """Log probabilities of tokens without alternatives."""
    if asked is None:
        return ()
    return tuple(TokenLogprobs(0.0, ((token, 0.0),)[:asked]) for token in token_ids)
