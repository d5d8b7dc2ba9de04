"""How a request's tokens are chosen, and how many there may be."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from msgspec.structs import replace

from toolglot.engine.protocol import ModelInfo, SamplingParams
from toolglot.errors import RequestError
from toolglot.server.ask import Sampling
from toolglot.server.errors import TOO_LONG, ApiError, takes_together

T = TypeVar("T")

_SEEDS = 1 << 63


def sampling_params(
    asked: Sampling, prompt_tokens: int, info: ModelInfo, *, max_tokens_limit: int | None = None
) -> SamplingParams:
    """The request's sampling, with OpenAI's defaults; ``max_tokens_limit`` is the most that any reply may have.

    Raises:
        ApiError: prompt and reply do not fit into the model's context (400).
        RequestError: a token is not in the vocabulary, or more tokens are asked for than are allowed, or fewer allowed
            than demanded.
    """
    _check_ids(asked.logit_bias, info, "logit_bias")
    _check_ids(asked.stop_token_ids, info, "stop_token_ids")
    _check_limit(asked, max_tokens_limit)
    room = _max_tokens(asked, prompt_tokens, info.max_model_len)
    max_tokens = room if max_tokens_limit is None else min(room, max_tokens_limit)
    return SamplingParams(
        max_tokens=max_tokens,
        temperature=_or(asked.temperature, 1.0),
        top_p=_or(asked.top_p, 1.0),
        top_k=max(_or(asked.top_k, 0), 0),
        min_p=_or(asked.min_p, 0.0),
        seed=asked.seed,
        ignore_eos=asked.ignore_eos,
        presence_penalty=_or(asked.presence_penalty, 0.0),
        frequency_penalty=_or(asked.frequency_penalty, 0.0),
        repetition_penalty=_or(asked.repetition_penalty, 1.0),
        logit_bias=asked.logit_bias,
        min_tokens=_min_tokens(asked, max_tokens),
        stop_token_ids=frozenset(asked.stop_token_ids),
        logprobs=asked.logprobs,
    )


def for_choice(sampling: SamplingParams, number: int) -> SamplingParams:
    """The sampling of one of several replies: a seed that the client gave counts on from the first one's."""
    if sampling.seed is None:
        return sampling
    return replace(sampling, seed=(sampling.seed + number) % _SEEDS)


def _check_limit(asked: Sampling, limit: int | None) -> None:
    most, param = asked.max_tokens, asked.max_tokens_param
    if limit is not None and most is not None and most > limit:
        message = f"`{param}` is {most}; this server's replies have {limit} tokens at most"
        raise RequestError(message, param=param)


def _max_tokens(asked: Sampling, prompt_tokens: int, max_model_len: int) -> int:
    room = max_model_len - prompt_tokens
    if room < 1:
        message = f"the prompt has {prompt_tokens} tokens; {takes_together(max_model_len)}"
        raise ApiError(400, message, param=asked.prompt_param, code=TOO_LONG)
    most, param = asked.max_tokens, asked.max_tokens_param
    if most is None:
        return room if asked.default_max_tokens is None else min(room, asked.default_max_tokens)
    if most > room and asked.clamp:
        return room
    if most > room:
        message = (
            f"`{param}` is {most}, and the prompt has {prompt_tokens} tokens; together they may have {max_model_len}"
        )
        raise ApiError(400, message, param=param, code=TOO_LONG)
    return most


def _min_tokens(asked: Sampling, max_tokens: int) -> int:
    least = _or(asked.min_tokens, 0)
    if least > max_tokens:
        message = f"`min_tokens` is {least}, and the reply may have {max_tokens} tokens"
        raise RequestError(message, param="min_tokens")
    return least


def _check_ids(ids: Iterable[int], info: ModelInfo, param: str) -> None:
    for token in ids:
        if not 0 <= token < info.vocab_size:
            message = f"`{param}` names token {token}; the model's tokens are 0 to {info.vocab_size - 1}"
            raise RequestError(message, param=param)


def _or(value: T | None, default: T) -> T:
    return default if value is None else value
