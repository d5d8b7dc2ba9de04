"""How a request's tokens are chosen, and how many there may be."""

from __future__ import annotations

from typing import TypeVar

from toolglot.engine.protocol import SamplingParams
from toolglot.server.ask import Sampling
from toolglot.server.errors import TOO_LONG, ApiError

T = TypeVar("T")


def sampling_params(asked: Sampling, prompt_tokens: int, max_model_len: int) -> SamplingParams:
    """The request's sampling, with OpenAI's defaults.

    Raises:
        ApiError: prompt and reply do not fit into the model's context (400).
    """
    return SamplingParams(
        max_tokens=_max_tokens(asked, prompt_tokens, max_model_len),
        temperature=_or(asked.temperature, 1.0),
        top_p=_or(asked.top_p, 1.0),
        top_k=max(_or(asked.top_k, 0), 0),
        min_p=_or(asked.min_p, 0.0),
        seed=asked.seed,
        ignore_eos=asked.ignore_eos,
    )


def _max_tokens(asked: Sampling, prompt_tokens: int, max_model_len: int) -> int:
    room = max_model_len - prompt_tokens
    if room < 1:
        message = (
            f"the prompt has {prompt_tokens} tokens; this model takes {max_model_len} for prompt and reply together"
        )
        raise ApiError(400, message, param="messages", code=TOO_LONG)
    most, param = asked.max_tokens, asked.max_tokens_param
    if most is not None and most > room:
        message = (
            f"`{param}` is {most}, and the prompt has {prompt_tokens} tokens; together they may have {max_model_len}"
        )
        raise ApiError(400, message, param=param, code=TOO_LONG)
    return room if most is None else most


def _or(value: T | None, default: T) -> T:
    return default if value is None else value
