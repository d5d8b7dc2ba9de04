"""How an engine is spoken to: what it can do, how a request is written for it, and how its answers are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Protocol, TypeVar

import msgspec
from msgspec import Struct, field

from toolglot.backends.faults import RefusedError, ReplicaError
from toolglot.backends.text_tokens import TextTokens
from toolglot.engine.protocol import SamplingParams, TokenLogprobs

T = TypeVar("T")

_NEVER = -100.0
"""The least bias that engines take. No model's logits are so far apart."""
FIELDS = frozenset(SamplingParams.__struct_fields__) - {"max_tokens", "temperature", "top_p"}
"""The fields of sampling that not every engine obeys."""

Finish = Literal["stop", "length", "abort"]


class Capabilities(Struct, frozen=True, kw_only=True):
    """What an engine does of what the server can ask of it. What is missing is refused by name, or said."""

    grammar: Literal["structural tag", "GBNF", "none"]
    """As what it takes grammars."""
    token_ids: Literal["all", "but inside characters", "none"]
    """Which tokens it tells; the others are made of its text."""
    takes: frozenset[str]
    """The fields of :class:`SamplingParams`, besides ``max_tokens``, ``temperature`` and ``top_p``, that it obeys."""
    abort: Literal["hanging up", "hanging up, and by id"] = "hanging up"
    """What ends a request at the engine."""
    cached_tokens: Literal["yes", "if it is told to", "no"] = "no"
    """Whether it tells how much of a prompt was cached."""


class RemoteConstraint(Struct, frozen=True):
    """A grammar as the engine takes it."""

    text: str
    named: frozenset[int] = frozenset()
    """The tokens that it names."""
    banned: frozenset[int] = frozenset()
    """The added tokens that it never uses."""


class RemoteRequest(Struct, frozen=True, kw_only=True):
    """What an engine is asked for."""

    id: str
    model: str
    """Its name at the engine."""
    prompt: tuple[int, ...]
    sampling: SamplingParams
    constraint: RemoteConstraint | None = None

    @property
    def biases(self) -> dict[str, float] | None:
        """What is added to the logits of which tokens: the request's own, and what keeps out those that are banned."""
        banned = self.constraint.banned if self.constraint else ()
        found = {**self.sampling.logit_bias, **dict.fromkeys(sorted(banned), _NEVER)}
        return {str(token): bias for token, bias in found.items()} or None


class Chunk(Struct, frozen=True):
    """What an engine tells at once. A token that ends the output is among its tokens where the engine tells it."""

    token_ids: tuple[int, ...] = ()
    finish: Finish | None = None
    logprobs: tuple[TokenLogprobs, ...] = ()
    """One for each token, or none."""
    cached_tokens: int = 0


class Reader(Protocol):
    """Reads the events of one answer, in order. Raises ReplicaError, RefusedError."""

    def __call__(self, event: bytes) -> Chunk: ...


class Served(Struct, frozen=True):
    """A model that an engine serves."""

    name: str
    max_model_len: int | None = None
    """None: the engine does not say."""
    aliases: frozenset[str] = frozenset()
    """Other names of the same model: a path, for instance."""


class Dialect:
    """One engine's protocol. An answer is server-sent events; the last may be ``[DONE]``."""

    name: ClassVar[str]
    capabilities: ClassVar[Capabilities]
    path: ClassVar[str] = "/v1/completions"
    health_path: ClassVar[str] = "/health"
    details_paths: ClassVar[tuple[str, ...]] = ()
    """Where else is asked at the start, if anywhere: the first that there is."""

    def takes(self, details: Mapping[str, Any]) -> frozenset[str]:  # noqa: ARG002  what else the engine tells
        """The fields that it obeys, as it was started."""
        return self.capabilities.takes

    def lower(self, tag: str, names: Mapping[int, str]) -> str:  # noqa: ARG002  the tokens that it names
        """A structural tag, as XGrammar's JSON, in the form that this engine takes. Raises UnenforceableError: there is
        none for it.
        """
        return tag

    def body(self, request: RemoteRequest) -> dict[str, Any]:
        """The JSON body for a request."""
        raise NotImplementedError

    def reader(self, request: RemoteRequest, tokens: TextTokens) -> Reader:
        """What reads the answer to a request."""
        raise NotImplementedError

    def abort(self, request: RemoteRequest) -> tuple[str, dict[str, Any]] | None:  # noqa: ARG002
        """Where a request is aborted besides hanging up, and with which body."""
        return None

    def served(self, models: bytes, details: Mapping[str, Any]) -> list[Served]:  # noqa: ARG002
        """The models in the answer of ``/v1/models``."""
        cards = read(msgspec.json.Decoder(_Models), models).data
        return [
            Served(card.id, card.max_model_len, frozenset(filter(None, (card.root,))))
            for card in cards
            if card.parent is None
        ]


class _Card(Struct):
    id: str
    max_model_len: int | None = None
    root: str | None = None
    parent: str | None = None
    """The model that this one is an adapter of."""


class _Models(Struct):
    data: list[_Card] = field(default_factory=list)


class Problem(Struct):
    """The error in an answer."""

    message: str = "no reason given"
    code: int | str | None = None


def read(decoder: msgspec.json.Decoder[T], event: bytes) -> T:
    """Decode an event. Raises ReplicaError: it is none of this engine's."""
    try:
        return decoder.decode(event)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ReplicaError(f"the engine sent what is no answer of its kind: {error}") from error


def raise_problem(problem: Problem | None) -> None:
    """Raise the error that an engine tells in an answer that has begun; a 4xx is about the request."""
    if problem is None:
        return
    if isinstance(problem.code, int) and 400 <= problem.code < 500:
        raise RefusedError(f"the engine refuses the request: {problem.message}")
    raise ReplicaError(f"the engine failed: {problem.message}")
