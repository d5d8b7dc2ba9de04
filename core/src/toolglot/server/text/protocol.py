"""Completions as types, with the requests and answers of ``/tokenize`` and ``/detokenize``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from toolglot.server.chat.protocol import ToolSpec, Usage
from toolglot.server.chat.turns import Turn
from toolglot.server.sampling_fields import SamplingFields, TokenId

FinishReason: TypeAlias = Literal["stop", "length"]


class CompletionRequest(SamplingFields, frozen=True, kw_only=True):
    """The body of ``POST /v1/completions``."""

    model: str
    prompt: str | list[str | TokenId | list[TokenId]]
    """A text or its tokens, or a list of such."""
    logprobs: Annotated[int, Meta(ge=0, le=20)] | None = None
    add_special_tokens: bool | None = None


HARMLESS_ONLY: Mapping[str, tuple[Any, ...]] = {
    "bad_words": ([],),
    "best_of": (1,),
    "echo": (False,),
    "guided_choice": (),
    "guided_grammar": (),
    "guided_json": (),
    "guided_regex": (),
    "length_penalty": (1,),
    "prompt_embeds": (),
    "prompt_logprobs": (),
    "response_format": ({"type": "text"},),
    "structured_outputs": (),
    "suffix": ("",),
    "use_beam_search": (False,),
}
"""Fields that would change the reply and are not served, each with the values (besides null) that change nothing."""


class Logprobs(Struct, frozen=True):
    """How probable the tokens were. Each of ``top_logprobs`` has the token itself too."""

    tokens: tuple[str, ...]
    token_logprobs: tuple[float, ...]
    top_logprobs: tuple[dict[str, float], ...]
    text_offset: tuple[int, ...]
    """Where each token begins in the text of the choice, in characters."""


class Choice(Struct, frozen=True):
    """One of the replies, or a piece of it."""

    index: int
    text: str
    logprobs: Logprobs | None = None
    finish_reason: FinishReason | None = None
    token_ids: tuple[int, ...] | UnsetType = UNSET
    prompt_token_ids: tuple[int, ...] | UnsetType = UNSET


class Completion(Struct, frozen=True):
    """A whole answer, or a chunk of a streamed one."""

    id: str
    created: int
    model: str
    choices: tuple[Choice, ...]
    usage: Usage | UnsetType | None = UNSET
    object: Literal["text_completion"] = "text_completion"


class TokenizeRequest(Struct, frozen=True, kw_only=True):
    """The body of ``POST /tokenize``: a ``prompt``, or ``messages`` with what else the chat template reads."""

    model: str | None = None
    prompt: str | None = None
    messages: list[Turn] | None = None
    tools: list[ToolSpec] | None = None
    chat_template_kwargs: dict[str, Any] | None = None
    add_special_tokens: bool | None = None
    return_token_strs: bool | None = None


TOKENIZE_HARMLESS_ONLY: Mapping[str, tuple[Any, ...]] = {
    "add_generation_prompt": (True,),
    "chat_template": (),
    "continue_final_message": (False,),
}
"""As :data:`HARMLESS_ONLY`."""


class TokenizeAnswer(Struct, frozen=True):
    """The tokens of a prompt."""

    count: int
    max_model_len: int
    tokens: tuple[int, ...]
    token_strs: tuple[str, ...] | None = None


class DetokenizeRequest(Struct, frozen=True, kw_only=True):
    """The body of ``POST /detokenize``."""

    tokens: list[TokenId]
    model: str | None = None


class DetokenizeAnswer(Struct, frozen=True):
    """The text of tokens."""

    prompt: str
