"""What a whole reply and the chunks of a streamed one have in common."""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType

from toolglot.events import Finish
from toolglot.server.chat.protocol import FinishReason, Usage
from toolglot.server.extension import Extension
from toolglot.server.generation import Generation
from toolglot.server.notes import NOTHING


class Reply(Struct, frozen=True):
    """The identity of a reply, and what of it is shown."""

    id: str
    created: int
    """Seconds since 1970."""
    model: str
    include_reasoning: bool = True
    include_usage: bool = False
    extensions: bool = True

    def extension(self, generation: Generation) -> Extension | UnsetType:
        """The member ``toolglot``, where there is something to say and the operator wants it said."""
        return generation.notes if self.extensions and generation.notes != NOTHING else UNSET


def finish_reason(finish: Finish, calls: int) -> FinishReason:
    """``length`` wins; otherwise a call makes it ``tool_calls``, whoever asked for the call."""
    if finish == "length":
        return "length"
    return "tool_calls" if calls else "stop"


def usage(generation: Generation) -> Usage:
    """The token counts of a generation that has ended."""
    prompt, completion = generation.prompt_tokens, generation.completion_tokens
    return Usage(prompt, completion, prompt + completion)
