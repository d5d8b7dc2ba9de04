"""``--speculative-config``, as vLLM spells it."""

from __future__ import annotations

from argparse import ArgumentTypeError
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta, Struct

from toolglot.cli.arguments import json_object

if TYPE_CHECKING:
    from toolglot.engine.drafts import PromptLookup

_LONGEST = 5
"""Without limits of its own, a lookup takes exactly so many tokens, as vLLM's does."""

_Count = Annotated[int, Meta(ge=1, le=64)]


class _Config(Struct, frozen=True, forbid_unknown_fields=True):
    method: str
    num_speculative_tokens: _Count
    prompt_lookup_max: _Count | None = None
    prompt_lookup_min: _Count | None = None


def prompt_lookup(text: str) -> PromptLookup:
    """What the flag's value asks for. Raises ArgumentTypeError."""
    from toolglot.engine.drafts import PromptLookup

    try:
        config = msgspec.convert(json_object(text), _Config)
    except msgspec.ValidationError as error:
        raise ArgumentTypeError(str(error)) from error
    if config.method != "ngram":
        raise ArgumentTypeError(f'method {config.method!r} is not known here; the one there is, is "ngram"')
    longest = config.prompt_lookup_max or config.prompt_lookup_min or _LONGEST
    shortest = config.prompt_lookup_min or longest
    if shortest > longest:
        raise ArgumentTypeError(f"prompt_lookup_min {shortest} is more than prompt_lookup_max {longest}")
    return PromptLookup(config.num_speculative_tokens, longest, shortest)
