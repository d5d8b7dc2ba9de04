"""What a client asks for, whichever API it speaks: what each API's reader makes, and the service takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from toolglot.requests import Tool, ToolChoice
from toolglot.server.response_format import ResponseFormat


class Sampling(Struct, frozen=True, kw_only=True):
    """How tokens are chosen, and how many there may be. None and the defaults are OpenAI's."""

    max_tokens: int | None = None
    """None: the client does not say."""
    default_max_tokens: int | None = None
    """How many there may be where the client does not say, and there is room; None: as many as there is room for."""
    max_tokens_param: str = "max_tokens"
    """The field that the client set it with."""
    clamp: bool = False
    """Whether a reply for which there is no such room gets what there is, and is not refused."""
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    seed: int | None = None
    ignore_eos: bool = False
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    repetition_penalty: float | None = None
    logit_bias: Mapping[int, float] = field(default_factory=dict)
    """By token id."""
    min_tokens: int | None = None
    stop_token_ids: tuple[int, ...] = ()
    logprobs: int | None = None
    """How many of the most probable tokens are told at each place, beside the chosen one; None: no probabilities."""
    prompt_param: str = "messages"
    """The field that the prompt is made of."""


class Ask(Struct, frozen=True, kw_only=True):
    """One request for replies. ``messages`` are as :func:`toolglot.prompts.read_messages` returns them."""

    model: str
    n: int = 1
    """How many replies; see :meth:`~toolglot.server.service.Service.generations`."""
    messages: tuple[Mapping[str, Any], ...]
    tools: tuple[Tool, ...] = ()
    tool_choice: ToolChoice = "auto"
    allowed_tools: tuple[str, ...] | None = None
    """The tools that this reply may call; the prompt shows the others all the same. None: it may call all."""
    parallel_tool_calls: bool = True
    response_format: ResponseFormat | None = None
    stops: tuple[str, ...] = ()
    include_stop: bool = False
    """Whether a stop string that ends the content is itself part of it."""
    sampling: Sampling = Sampling()
    chat_template_kwargs: Mapping[str, Any] = field(default_factory=dict)
    skip_special_tokens: bool = True
