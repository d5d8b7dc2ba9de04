"""Where the reasoning ends, in token ids and in text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from toolglot import PluginError, added_tokens
from toolglot_vllm.loading import configured, described
from toolglot_vllm.requests import Prompt

_PROMPT_END = 64
"""So many tokens at the end of a prompt show whether the reasoning is open there."""


class Fence:
    """The markers around the reasoning of the parser ``name``.

    Raises:
        PluginError: it cannot be had, or declares no reasoning.
    """

    def __init__(self, name: str, tokenizer: Any) -> None:
        self._parser = configured(name, name, tokenizer)
        self._tokenizer = tokenizer
        form = getattr(self._parser.plugin, "form", None)
        if form is None or form.reasoning is None:
            raise PluginError(f"parser {name!r} declares no reasoning; start without this reasoning parser")
        self.openers, self.closers = _plain(form.reasoning.fence.open), _plain(form.reasoning.fence.close)
        tokens = added_tokens(described(tokenizer))
        self._opener_ids = {tokens[text] for text in self.openers if text in tokens}
        self._closer_ids = {tokens[text] for text in self.closers if text in tokens}
        self._spelled = [text for text in self.closers if text not in tokens]
        template = _templates(tokenizer)
        self._reasons = not template or self._parser.reasons_in(template)

    def of_prompt(self, token_ids: Sequence[int]) -> Prompt:
        """Whether a prompt ends with the reasoning opened, or closed, or neither."""
        end = self._tokenizer.decode(list(token_ids[-_PROMPT_END:]), skip_special_tokens=False)
        return self._parser.prompt_reasoning(end)

    def over_at_once(self, prompt_ids: Sequence[int]) -> bool:
        """Whether no reasoning comes after a prompt: it is closed there, or the model's template knows of none."""
        state = self.of_prompt(prompt_ids)
        return state == "closed" or (state == "absent" and not self._reasons)

    def closed_by(self, token_ids: Sequence[int], new: Sequence[int]) -> bool:
        """Whether the reasoning is over with the last, ``new``, of the tokens."""
        if not self._closer_ids.isdisjoint(new):
            return True
        if not self._spelled:
            return False
        span = len(new) + max(map(len, self._spelled))  # a token has a character at least
        end = self._tokenizer.decode(list(token_ids[-span:]), skip_special_tokens=False)
        return any(text in end for text in self._spelled)

    def behind(self, token_ids: Sequence[int]) -> list[int]:
        """The tokens behind the first closer; all, if there is none."""
        place = next((at for at, number in enumerate(token_ids) if number in self._closer_ids), -1)
        return list(token_ids[place + 1 :])

    def inside(self, token_ids: Sequence[int], prompt: Prompt) -> int:
        """How many tokens are reasoning, where its markers are tokens; else 0."""
        end = next((at for at, number in enumerate(token_ids) if number in self._closer_ids), None)
        start = next((at for at, number in enumerate(token_ids) if number in self._opener_ids), None)
        if end is None and start is None and prompt != "open":
            return 0
        until = len(token_ids) if end is None else end
        return until - (0 if start is None or start > until else start + 1)

    def opened_before(self, text: str) -> bool:
        """Whether a whole output, whose prompt is not known, began inside the reasoning: it closes what it did not
        open.
        """
        ends = [text.find(one) for one in self.closers if one in text]
        starts = [text.find(one) for one in self.openers if one in text]
        return bool(ends) and min(starts, default=len(text)) > min(ends)


def _plain(spellings: Iterable[str]) -> tuple[str, ...]:
    """Spellings without the whitespace around them."""
    return tuple(filter(None, (one.strip(" \n~") for one in spellings)))


def _templates(tokenizer: Any) -> str:
    """The model's chat templates; it may have several, by name."""
    found = getattr(tokenizer, "chat_template", None) or ""
    return found if isinstance(found, str) else str(found)
