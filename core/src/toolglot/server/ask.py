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
    """None: as many as there is room for."""
    max_tokens_param: str = "max_tokens"
    """The field that the client set it with."""
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    seed: int | None = None
    ignore_eos: bool = False


class Ask(Struct, frozen=True, kw_only=True):
    """One request for replies. ``messages`` are as :func:`toolglot.prompts.read_messages` returns them."""

    model: str
    messages: tuple[Mapping[str, Any], ...]
    tools: tuple[Tool, ...] = ()
    tool_choice: ToolChoice = "auto"
    parallel_tool_calls: bool = True
    response_format: ResponseFormat | None = None
    stops: tuple[str, ...] = ()
    sampling: Sampling = Sampling()
    chat_template_kwargs: Mapping[str, Any] = field(default_factory=dict)
    skip_special_tokens: bool = True
