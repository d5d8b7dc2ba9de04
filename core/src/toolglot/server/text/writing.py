"""Generations as Completions, whole and in chunks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate

from msgspec import UNSET, Struct, UnsetType

from toolglot.events import ContentDelta, Event
from toolglot.server.chat.chunks import DONE, event_bytes
from toolglot.server.chat.logprobs import shown, token_bytes
from toolglot.server.chat.protocol import PromptTokensDetails, Usage
from toolglot.server.content_tokens import ContentToken
from toolglot.server.generation import Generation
from toolglot.server.text.protocol import Choice, Completion, FinishReason, Logprobs


class Reply(Struct, frozen=True, kw_only=True):
    """The identity of an answer, what it is made of, and what of that is shown."""

    id: str
    created: int
    """Seconds since 1970."""
    model: str
    generations: Sequence[Generation]
    """For each prompt, one for each of its choices."""
    choices_each: int
    token_texts: Sequence[bytes]
    """What each token stands for, by id."""
    include_usage: bool = False
    continuous_usage: bool = False
    include_token_ids: bool = False
    include_logprobs: bool = False

    def usage(self) -> Usage:
        """The token counts so far: each prompt's once, and those of all choices."""
        first = self.generations[:: self.choices_each]
        prompt = sum(generation.prompt_tokens for generation in first)
        details = PromptTokensDetails(sum(generation.cached_tokens for generation in first))
        completion = sum(generation.completion_tokens for generation in self.generations)
        return Usage(prompt, completion, prompt + completion, details)


class ChoiceWriter:
    """Writes one choice, whole or piece by piece."""

    def __init__(self, reply: Reply, index: int) -> None:
        self._reply = reply
        self._index = index
        self._generation = reply.generations[index]
        self._tokens = self._offset = 0  # what is told already

    def whole(self) -> Choice:
        """The choice, when its generation has ended."""
        return self._piece(self._generation.message.content or "", finish_reason(self._generation))

    def chunk(self, events: Iterable[Event]) -> bytes:
        """The text of a step; nothing if there is none."""
        text = "".join(event.text for event in events if isinstance(event, ContentDelta))
        return _chunk(self._reply, self._piece(text)) if text else b""

    def closing(self) -> bytes:
        """Why the choice ended."""
        return _chunk(self._reply, self._piece("", finish_reason(self._generation)))

    def _piece(self, text: str, finish: FinishReason | None = None) -> Choice:
        first = self._tokens == 0
        logprobs = self._logprobs(len(text))
        ids, prompt = self._token_ids(), self._generation.prompt_token_ids
        shown_prompt = prompt if first and self._reply.include_token_ids else UNSET
        return Choice(self._index, text, logprobs, finish, ids, shown_prompt)

    def _token_ids(self) -> tuple[int, ...] | UnsetType:
        told, self._tokens = self._tokens, len(self._generation.token_ids)
        return tuple(self._generation.token_ids[told:]) if self._reply.include_token_ids else UNSET

    def _logprobs(self, length: int) -> Logprobs | None:
        if not self._reply.include_logprobs:
            return None
        tokens, texts = self._generation.content_tokens(length), self._reply.token_texts
        names = tuple(shown(token_bytes(token.token_id, texts)) for token in tokens)
        offsets = list(accumulate(map(len, names), initial=self._offset))
        self._offset = offsets.pop()
        tops = tuple(_top(token, texts) for token in tokens)
        return Logprobs(names, tuple(token.logprobs.logprob for token in tokens), tops, tuple(offsets))


def completion(reply: Reply) -> Completion:
    """The whole answer; all generations have ended."""
    choices = tuple(ChoiceWriter(reply, index).whole() for index in range(len(reply.generations)))
    return Completion(reply.id, reply.created, reply.model, choices, reply.usage())


def ending(reply: Reply) -> bytes:
    """What follows the last choice: the usage if it was asked for, and the end of the stream."""
    if not reply.include_usage:
        return DONE
    return event_bytes(Completion(reply.id, reply.created, reply.model, (), reply.usage())) + DONE


def finish_reason(generation: Generation) -> FinishReason:
    """Why a generation that has ended did so."""
    return "length" if generation.finish == "length" else "stop"


def _chunk(reply: Reply, choice: Choice) -> bytes:
    usage: Usage | UnsetType | None = None if reply.include_usage else UNSET
    if reply.continuous_usage:
        usage = reply.usage()
    return event_bytes(Completion(reply.id, reply.created, reply.model, (choice,), usage))


def _top(token: ContentToken, texts: Sequence[bytes]) -> dict[str, float]:
    found = {shown(token_bytes(token.token_id, texts)): token.logprobs.logprob}
    for other, logprob in token.logprobs.top:
        found.setdefault(shown(token_bytes(other, texts)), logprob)
    return found
