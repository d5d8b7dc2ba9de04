"""What a whole answer and the chunks of a streamed one have in common."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET, Struct, UnsetType

from toolglot.events import Finish
from toolglot.server.chat.logprobs import logprobs
from toolglot.server.chat.protocol import FinishReason, Logprobs, PromptTokensDetails, Usage
from toolglot.server.extension import Extension
from toolglot.server.generation import Generation
from toolglot.server.notes import NOTHING


class Reply(Struct, frozen=True, kw_only=True):
    """The identity of an answer, what it is made of, and what of that is shown."""

    id: str
    created: int
    """Seconds since 1970."""
    model: str
    generations: Sequence[Generation]
    """One for each choice."""
    token_texts: Sequence[bytes]
    """What each token stands for, by id."""
    include_reasoning: bool = True
    include_usage: bool = False
    continuous_usage: bool = False
    include_token_ids: bool = False
    include_logprobs: bool = False
    extensions: bool = True

    def extension(self, generation: Generation) -> Extension | UnsetType:
        """The member ``toolglot``, where there is something to say and the operator wants it said."""
        return generation.notes if self.extensions and generation.notes != NOTHING else UNSET

    def finish_reason(self, generation: Generation) -> FinishReason:
        """Why a generation that has ended did so."""
        return finish_reason(generation.finish, len(generation.message.tool_calls))

    def logprobs(self, generation: Generation, content: str | None) -> Logprobs | None:
        """How probable the next piece of content was, where that is asked for."""
        if not self.include_logprobs:
            return None
        return logprobs(generation.content_tokens(len(content or "")), self.token_texts)

    def token_ids(self, generation: Generation, start: int = 0) -> tuple[int, ...] | UnsetType:
        """The tokens of a generation from the one numbered ``start`` on, where they are asked for."""
        return tuple(generation.token_ids[start:]) if self.include_token_ids else UNSET

    @property
    def prompt_token_ids(self) -> tuple[int, ...] | UnsetType:
        """The tokens of the prompt, where they are asked for."""
        return self.generations[0].prompt_token_ids if self.include_token_ids else UNSET

    def usage(self) -> Usage:
        """The token counts so far: the prompt's once, and those of all choices."""
        prompt = self.generations[0].prompt_tokens
        completion = sum(generation.completion_tokens for generation in self.generations)
        details = PromptTokensDetails(self.generations[0].cached_tokens)
        return Usage(prompt, completion, prompt + completion, details)


def finish_reason(finish: Finish, calls: int) -> FinishReason:
    """``length`` wins; otherwise a call makes it ``tool_calls``, whoever asked for the call."""
    if finish == "length":
        return "length"
    return "tool_calls" if calls else "stop"
