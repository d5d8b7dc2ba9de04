"""From a request to the prompt's text and token ids, through the model's chat template."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

from jinja2 import TemplateSyntaxError
from msgspec import Struct

from toolglot.errors import ModelError, RequestError
from toolglot.prompts.cuts import Cutter, cut_strings, split, unused_mark
from toolglot.prompts.encoding import PieceEncoder
from toolglot.requests import Request
from toolglot.vocabulary import added_tokens

_PROBE = {"role": "user", "content": "Hello"}


class Prompt(Struct, frozen=True):
    """What the model reads: the rendered text, and the ids of its tokens."""

    text: str
    token_ids: tuple[int, ...]


class Renderer(Protocol):
    """Renders requests to prompts, in whichever way the model's makers do."""

    @property
    def template(self) -> str:
        """The text of the chat template; empty where prompts are not made from one."""

    def render(self, request: Request, *, most_tokens: int | None = None) -> Prompt:
        """The prompt for a request. Several threads may call it at once.

        Raises:
            RequestError: there is none for it.
            PromptTooLongError: it has more than ``most_tokens`` tokens. Not every such prompt is refused: where all of
                its tokens were counted already, it is returned.
        """


class PromptRenderer:
    """Renders requests with a chat template, in the sandbox of transformers.

    ``chat_template`` is Jinja text (:func:`~toolglot.prompts.find_template`), None for the tokenizer's own. ``keep``
    are the added tokens that the content of earlier assistant messages may hold as tokens: the fences of reasoning,
    which templates look for.

    Raises:
        ModelError: there is no template, or it is no Jinja.
    """

    def __init__(self, tokenizer: Any, *, chat_template: str | None = None, keep: frozenset[str] = frozenset()) -> None:
        texts = added_tokens(tokenizer)
        normalize = _normalizer(tokenizer)
        self._tokenizer = tokenizer
        self._template = chat_template
        self._everything = Cutter(texts, normalize)
        self._all_but_kept = Cutter(texts.keys() - keep, normalize)
        self._encode = PieceEncoder(tokenizer)
        self._reserved = _reserved(tokenizer)
        self._check_template()

    def render(self, request: Request, *, most_tokens: int | None = None) -> Prompt:
        """The prompt for a request whose messages are as :func:`~toolglot.prompts.read_messages` returns them.

        No text in the messages, tools or ``chat_template_kwargs`` becomes an added token of the tokenizer.

        Raises:
            RequestError: the template refuses the conversation, or cannot render it; ``param`` is ``messages`` or in
                ``chat_template_kwargs``.
            PromptTooLongError: the prompt has more than ``most_tokens`` tokens, and they were not all counted.
        """
        self._check_kwargs(request.chat_template_kwargs)
        try:
            pieces = self._pieces(request)
        except RecursionError as error:
            raise RequestError("the request is nested too deeply", param="messages") from error
        return Prompt("".join(pieces), self._encode(pieces, most_tokens))

    @property
    def template(self) -> str:
        """The Jinja text that is rendered."""
        text: str = self._tokenizer.get_chat_template(self._template)
        return text

    def _pieces(self, request: Request) -> list[str]:
        tools = [tool.to_openai() for tool in request.templated_tools]
        kwargs = dict(request.chat_template_kwargs)
        mark = unused_mark(request.messages, tools, kwargs)
        cut = partial(self._everything.cut, mark=mark)
        messages = [self._cut_message(message, mark) for message in request.messages]
        return split(self._render(messages, cut_strings(tools, cut), cut_strings(kwargs, cut)), mark)

    def _cut_message(self, message: Mapping[str, Any], mark: str) -> dict[str, Any]:
        cut = partial(self._everything.cut, mark=mark)
        parts = {key: value if key == "role" else cut_strings(value, cut) for key, value in message.items()}
        if message["role"] == "assistant":
            parts["content"] = cut_strings(message.get("content"), partial(self._all_but_kept.cut, mark=mark))
        return parts

    def _render(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]], kwargs: dict[str, Any]) -> str:
        try:
            return self._apply(messages, tools, **kwargs)
        except Exception as error:  # a template is a program that reads client data: whatever it raises, it refuses
            raise RequestError(
                f"the chat template cannot render this request: {error}", param=self._fault(messages, tools, kwargs)
            ) from error

    def _fault(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]], kwargs: dict[str, Any]) -> str:
        """The part of a request that cannot be rendered: the arguments for the template, if it can do without them."""
        if not kwargs:
            return "messages"
        try:
            self._apply(messages, tools)
        except Exception:  # noqa: BLE001 - as in `_render`
            return "messages"
        return "chat_template_kwargs"

    def _apply(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]], **kwargs: Any) -> str:
        rendered: str = self._tokenizer.apply_chat_template(
            messages,
            tools=tools or None,
            chat_template=self._template,
            tokenize=False,
            add_generation_prompt=True,
            **kwargs,
        )
        return rendered

    def _check_kwargs(self, kwargs: Mapping[str, Any]) -> None:
        for name in kwargs:
            if name in self._reserved:
                raise RequestError(
                    f"`{name}` cannot be set for the chat template", param=f"chat_template_kwargs.{name}"
                )

    def _check_template(self) -> None:
        try:
            self._tokenizer.get_chat_template(self._template)
        except ValueError as error:
            raise ModelError(
                f"the model has no chat template to use; pass one with --chat-template ({error})"
            ) from error
        try:
            self._apply([_PROBE], [])
        except TemplateSyntaxError as error:
            raise ModelError(f"the chat template is no valid Jinja, line {error.lineno}: {error.message}") from error
        except Exception:  # noqa: BLE001, S110 - it refuses this one conversation, which says nothing of others
            pass


def _normalizer(tokenizer: Any) -> Callable[[str], str] | None:
    """What ``tokenizer`` does to text before it looks for added tokens; None where that finds no more of them."""
    normalizer = getattr(getattr(tokenizer, "backend_tokenizer", None), "normalizer", None)
    if normalizer is None or not any(token.normalized for token in tokenizer.added_tokens_decoder.values()):
        return None
    return normalizer.normalize_str  # type: ignore[no-any-return]  # the tokenizers package is untyped here


def _reserved(tokenizer: Any) -> frozenset[str]:
    """The names that `chat_template_kwargs` may not set: what is ours to pass, and the tokenizer's own tokens."""
    ours = inspect.signature(tokenizer.apply_chat_template).parameters.keys() - {"documents", "kwargs"}
    return frozenset(ours | {"messages"} | tokenizer.special_tokens_map.keys())
