"""What the server needs of an engine, embedded or remote. Text, stop strings and tool calls live above it, on token
ids.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias

from msgspec import Struct

from toolglot.structural_tag import StructuralTag


class SamplingParams(Struct, frozen=True, kw_only=True):
    """How tokens are chosen. ``temperature`` 0 is greedy; ``top_k`` 0 and ``top_p`` 1 are off."""

    max_tokens: int
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    seed: int | None = None
    ignore_eos: bool = False
    presence_penalty: float = 0.0
    """Taken off the logit of every token that the output already has."""
    frequency_penalty: float = 0.0
    """Taken off as often as the output has the token."""
    repetition_penalty: float = 1.0
    """Divides positive logits of tokens that prompt or output have, and multiplies negative ones."""
    logit_bias: Mapping[int, float] = {}
    """Added to the logits of these tokens. What a grammar forbids stays forbidden."""
    min_tokens: int = 0
    """Before so many tokens no stop token is chosen, unless a grammar admits nothing else."""
    stop_token_ids: frozenset[int] = frozenset()
    """Tokens that end the output besides the model's own, also where ``ignore_eos`` is set."""
    logprobs: int | None = None
    """Of how many of the most probable tokens the log probabilities are told beside the chosen one's; None: of none,
    nor the chosen one's."""
    cache_salt: bytes = b""
    """Requests with different ones share nothing in the prefix cache: none can tell from times what others asked."""


class TokenLogprobs(Struct, frozen=True):
    """How probable a token was: by the model and within the grammar, before penalties, bias and temperature."""

    logprob: float
    top: tuple[tuple[int, float], ...] = ()
    """The most probable tokens (id, log probability), the first being the most probable; none that was forbidden."""


DraftKind: TypeAlias = Literal["grammar", "prompt"]
"""What tokens were guessed from: a grammar that forces them, or what followed the same tokens before."""


class Speculation(Struct, frozen=True):
    """What came of the tokens that were guessed for one step."""

    kind: DraftKind
    drafted: int
    accepted: int
    """How many of them came indeed: so many forward passes were not needed for this request."""


class TokenDelta(Struct, frozen=True):
    """Tokens of one step. The stop token itself is not among them. ``finish`` is set on the last delta, whose tokens
    may be empty.
    """

    token_ids: tuple[int, ...] = ()
    finish: Literal["stop", "length", "abort"] | None = None
    stop_token: int | None = None
    """On the last delta, the stop token that the model wrote, where it wrote one: it can be a marker of the format."""
    logprobs: tuple[TokenLogprobs, ...] = ()
    """One for each of ``token_ids``, where they were asked for."""
    cached_tokens: int = 0
    """How many tokens of the prompt were in the prefix cache, and not computed: told with the first delta, or with the
    last, where the engine counts at the end.
    """
    speculation: Speculation | None = None
    """Where tokens were guessed."""


class ModelInfo(Struct, frozen=True, kw_only=True):
    """What the server must know of the served model."""

    name: str
    max_model_len: int
    """The longest prompt and output together, in tokens."""
    vocab_size: int
    """The width of the logits (from the model's config: often more than the tokenizer's length)."""
    stop_token_ids: frozenset[int]
    """Every id that ends a turn: the generation config's, the model config's and the tokenizer's."""
    facts: Mapping[str, Any] = {}
    """What start-up logs: attention, dtype, threads."""


class EngineStats(Struct, frozen=True):
    """What an engine does at the moment, and what it had to do."""

    engine_running: int
    """Requests that hold blocks of the cache."""
    engine_waiting: int
    engine_pass_tokens: int
    """How many tokens a forward pass takes in at most."""
    cache_blocks: int
    cache_blocks_held: int
    cache_blocks_known: int
    """Blocks whose content another request may share, held or not."""
    cache_blocks_forgotten: int
    """How often a block of known content was given away for other content."""
    preemptions: int
    """How often a request had to give its blocks back before its end."""


class Constraint(Protocol):
    """A compiled structural tag, opaque to the server; good for one engine, for any number of requests."""


class Engine(Protocol):
    """Generates tokens for many requests at once."""

    @property
    def info(self) -> ModelInfo: ...

    async def start(self) -> None:
        """Be ready to serve. Raises ModelError."""

    async def stop(self) -> None:
        """Cancel what runs and free everything."""

    async def compile(self, tag: StructuralTag) -> Constraint:
        """Compile a tag without blocking the event loop.

        Raises:
            GrammarError: it cannot be compiled (the client's 400); UnenforceableError: this engine cannot hold to it.
        """

    def submit(
        self, prompt: Sequence[int], sampling: SamplingParams, constraint: Constraint | None = None
    ) -> AsyncGenerator[TokenDelta, None]:
        """Queue a request and return its tokens as they come.

        Closing the iterator (``aclose``, also by garbage collection or task cancellation) cancels the request and
        frees its slot.

        Raises:
            QueueFullError: at once, when the queue is full; also from the iterator, before the first delta.
            RequestError: at once, when the engine does not obey a field of the request.
            EngineError: from the iterator, when this request failed.
        """

    @property
    def running(self) -> int:
        """How many requests hold a slot or wait for one."""

    @property
    def alive(self) -> bool:
        """Whether it is started and can do its work; once False, it stays so until it is started again."""

    @property
    def stats(self) -> EngineStats | None:
        """For the metrics; None where it has none."""

    @property
    def ready(self) -> bool:
        """Whether it is alive and did not fail again and again of late; once something succeeds, it is ready again."""
