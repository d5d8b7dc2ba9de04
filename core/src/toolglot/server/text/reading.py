"""A Completions body as what it asks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from toolglot.errors import RequestError
from toolglot.server.ask import Ask
from toolglot.server.decoding import convert, decode_object, refuse_unserved
from toolglot.server.text.protocol import HARMLESS_ONLY, CompletionRequest

Prompt: TypeAlias = str | Sequence[int]

_DEFAULT_MAX_TOKENS = 16


def read(body: bytes) -> CompletionRequest:
    """The request in a body.

    Raises:
        RequestError: it is none, or asks for what is not served.
    """
    value = decode_object(body)
    request = convert(value, CompletionRequest)
    refuse_unserved(value, HARMLESS_ONLY)
    request.check()
    return request


def ask(request: CompletionRequest) -> Ask:
    """What the request asks for, for each of its prompts."""
    return Ask(
        model=request.model,
        n=request.n or 1,
        messages=(),
        stops=request.stops,
        include_stop=bool(request.include_stop_str_in_output),
        sampling=request.sampling(
            request.max_tokens,
            default_max_tokens=_DEFAULT_MAX_TOKENS,
            max_tokens_param="max_tokens",
            prompt_param="prompt",
            logprobs=request.logprobs,
        ),
        skip_special_tokens=request.skip_special_tokens is not False,
    )


def prompts(request: CompletionRequest) -> list[Prompt]:
    """The prompts, each a text or tokens.

    Raises:
        RequestError: there is none, or one is empty, or tokens stand among prompts.
    """
    value = request.prompt
    if isinstance(value, str):
        return [_full(value, "prompt")]
    if not value:
        raise RequestError("`prompt` is empty", param="prompt")
    tokens = [one for one in value if isinstance(one, int)]
    if len(tokens) == len(value):
        return [tokens]
    found = [_full(one, f"prompt[{at}]") for at, one in enumerate(value) if not isinstance(one, int)]
    if tokens:
        raise RequestError("`prompt` mixes tokens with prompts", param="prompt")
    return found


def _full(prompt: Prompt, at: str) -> Prompt:
    if not prompt:
        raise RequestError(f"`{at}` is empty", param=at)
    return prompt
