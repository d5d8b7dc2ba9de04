"""One request inside the engine, and the stream of its tokens outside."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from concurrent.futures import Future
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeAlias

from toolglot.engine.drafts import NO_DRAFTS, Drafts, History
from toolglot.engine.protocol import SamplingParams, TokenDelta
from toolglot.errors import EngineError

if TYPE_CHECKING:  # the scheduler's tests need no torch
    import torch

    from toolglot.engine.logits import LogitsProcessor

Outcome: TypeAlias = TokenDelta | EngineError


@dataclass(eq=False, slots=True)
class Sequence:
    """A prompt and what was generated after it. All but ``cancelled`` and ``outbox`` belongs to the engine's thread."""

    tokens: list[int]
    sampling: SamplingParams
    constraint: Any
    """Has ``matcher()``, or is None."""
    seed: int
    outbox: asyncio.Queue[Outcome]
    """Filled and read on the event loop only."""
    cancelled: bool = False
    generated: int = 0
    computed: int = 0
    """How many tokens, from the first, have their keys and values in the cache."""
    blocks: list[int] = field(default_factory=list)
    """Where they are, in order."""
    cached: int | None = None
    """How many of the prompt's tokens were in the cache when it was admitted first."""
    keys: list[bytes] = field(default_factory=list)
    """The keys of its first full blocks, as far as they were needed."""
    matcher: Any = None
    generator: torch.Generator | None = None
    processor: LogitsProcessor | None = None
    history: History | None = None
    drafts: Drafts = NO_DRAFTS
    """What may come next: the next pass takes in as much of it as there is room for."""
    preparing: Future[None] | None = None
    """Ends when its grammar has the masks that the next pass needs, where they are made when they are wanted."""

    @property
    def pending(self) -> int:
        """How many tokens the next forward passes must still take in before one can be sampled; at least 1."""
        return len(self.tokens) - self.computed

    @property
    def room(self) -> int:
        """How many more tokens it may generate."""
        return self.sampling.max_tokens - self.generated


class TokenStream(AsyncGenerator[TokenDelta, None]):
    """The deltas of a sequence. Closing it, dropping it, or cancelling the task that waits for it cancels that."""

    def __init__(self, sequence: Sequence) -> None:
        self._sequence = sequence
        self._ended = False

    async def asend(self, _: None) -> TokenDelta:
        """Return the next delta."""
        if self._ended:
            raise StopAsyncIteration
        try:
            outcome = await self._sequence.outbox.get()
        except asyncio.CancelledError:
            self._close()
            raise
        self._ended = isinstance(outcome, EngineError) or outcome.finish is not None
        if isinstance(outcome, EngineError):
            raise outcome
        return outcome

    async def athrow(self, kind: Any, value: Any = None, _: TracebackType | None = None, /) -> TokenDelta:
        """Close the stream, and raise what is given."""
        self._close()
        raise kind if value is None else value

    async def aclose(self) -> None:
        """Cancel the request, if it still runs; its slot is free after the step that is under way."""
        self._close()

    def __del__(self) -> None:
        self._close()

    def _close(self) -> None:
        # No more than a flag: this also runs in the garbage collector, where a lock might be held already.
        self._ended = True
        self._sequence.cancelled = True
