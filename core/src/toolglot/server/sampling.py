"""How a request's tokens are chosen, and how many there may be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from toolglot.engine.protocol import SamplingParams
from toolglot.server.errors import TOO_LONG, ApiError
from toolglot.server.protocol import ChatRequest

T = TypeVar("T")


def sampling_params(chat: ChatRequest, prompt_tokens: int, max_model_len: int) -> SamplingParams:
    """The request's sampling, with OpenAI's defaults.

    Raises:
        ApiError: prompt and reply do not fit into the model's context (400).
    """
    return SamplingParams(
        max_tokens=_max_tokens(chat, prompt_tokens, max_model_len),
        temperature=_or(chat.temperature, 1.0),
        top_p=_or(chat.top_p, 1.0),
        top_k=max(_or(chat.top_k, 0), 0),
        min_p=_or(chat.min_p, 0.0),
        seed=chat.seed,
        ignore_eos=bool(chat.ignore_eos),
    )


def stop_strings(chat: ChatRequest) -> Sequence[str]:
    """The request's stop strings, perhaps none."""
    if chat.stop is None:
        return ()
    return (chat.stop,) if isinstance(chat.stop, str) else tuple(chat.stop)


def _max_tokens(chat: ChatRequest, prompt_tokens: int, max_model_len: int) -> int:
    room = max_model_len - prompt_tokens
    if room < 1:
        message = (
            f"the prompt has {prompt_tokens} tokens; this model takes {max_model_len} for prompt and reply together"
        )
        raise ApiError(400, message, param="messages", code=TOO_LONG)
    param = "max_tokens" if chat.max_completion_tokens is None else "max_completion_tokens"
    asked: int | None = getattr(chat, param)
    if asked is not None and asked > room:
        message = (
            f"`{param}` is {asked}, and the prompt has {prompt_tokens} tokens; together they may have {max_model_len}"
        )
        raise ApiError(400, message, param=param, code=TOO_LONG)
    return room if asked is None else asked


def _or(value: T | None, default: T) -> T:
    return default if value is None else value
