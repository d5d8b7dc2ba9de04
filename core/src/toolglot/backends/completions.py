"""Answers of ``/v1/completions``: OpenAI's, with what vLLM adds to them."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct, field

from toolglot.backends.dialect import Finish, Problem, raise_problem, read
from toolglot.backends.faults import ReplicaError
from toolglot.engine.protocol import TokenLogprobs

_PREFIX = "token_id:"
_FINISHES: dict[str, Finish] = {"stop": "stop", "length": "length", "abort": "abort"}


class Logprobs(Struct):
    """Probabilities of the tokens of a choice, each named ``token_id:`` and its id."""

    tokens: list[str]
    token_logprobs: list[float | None]
    top_logprobs: list[dict[str, float] | None] | None = None


class Choice(Struct):
    """What is new in the reply."""

    text: str = ""
    token_ids: list[int] | None = None
    finish_reason: str | None = None
    logprobs: Logprobs | None = None


class _PromptDetails(Struct):
    cached_tokens: int | None = None


class Usage(Struct):
    """Token counts, after the last choice."""

    prompt_tokens_details: _PromptDetails | None = None

    @property
    def cached_tokens(self) -> int:
        details = self.prompt_tokens_details
        return (details and details.cached_tokens) or 0


class Completion(Struct):
    """One event."""

    choices: list[Choice] = field(default_factory=list)
    usage: Usage | None = None
    error: Problem | None = None


_DECODER = msgspec.json.Decoder(Completion)


def read_completion(event: bytes) -> Completion:
    """Decode one event. Raises ReplicaError, RefusedError: it is none, or tells an error."""
    completion = read(_DECODER, event)
    raise_problem(completion.error)
    return completion


def finish_of(choice: Choice) -> Finish | None:
    """Why the reply ended, if it did. Raises ReplicaError: for a reason that none of ours is."""
    reason = choice.finish_reason
    if reason is not None and reason not in _FINISHES:
        raise ReplicaError(f"the engine ended the reply for {reason!r}")
    return None if reason is None else _FINISHES[reason]


def logprobs_of(choice: Choice, asked: int | None) -> tuple[TokenLogprobs, ...]:
    """The probabilities of the choice's tokens, with as many alternatives as were asked for."""
    found = choice.logprobs
    if asked is None or found is None:
        return ()
    tops = found.top_logprobs or [None] * len(found.tokens)
    return tuple(
        TokenLogprobs(-9999.0 if logprob is None else logprob, _top(top or {}, asked))
        for logprob, top in zip(found.token_logprobs, tops, strict=False)
    )


def _top(found: dict[str, float], asked: int) -> tuple[tuple[int, float], ...]:
    pairs = [(int(name.removeprefix(_PREFIX)), logprob) for name, logprob in found.items() if name.startswith(_PREFIX)]
    return tuple(sorted(pairs, key=lambda pair: -pair[1])[:asked])


def given(**fields: Any) -> dict[str, Any]:
    """The fields of a body that are set."""
    return {name: value for name, value in fields.items() if value is not None}
