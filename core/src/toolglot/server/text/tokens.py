"""``POST /tokenize`` and ``POST /detokenize``: what a prompt is made of."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from starlette.responses import Response

from toolglot.errors import RequestError
from toolglot.server.ask import Ask
from toolglot.server.chat.logprobs import shown, token_bytes
from toolglot.server.chat.reading import read_tools
from toolglot.server.chat.turns import conversation, convert_with_turns
from toolglot.server.decoding import convert, decode_object, decoded, off_loop, refuse_unserved
from toolglot.server.encoding import json_response
from toolglot.server.service import Service
from toolglot.server.text.protocol import (
    TOKENIZE_HARMLESS_ONLY,
    DetokenizeAnswer,
    DetokenizeRequest,
    TokenizeAnswer,
    TokenizeRequest,
)


class Tokens:
    """Answers requests about tokens; the model does not run for them."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def tokenize(self, body: bytes) -> Response:
        """The tokens of a prompt, or of the prompt that a conversation makes.

        Raises:
            ToolglotError: the request cannot be served.
        """
        request, ask = await decoded(body, _read_tokenize)
        self._check_model(request.model)
        tokens = tuple(await self._tokens(request, ask))
        return await off_loop(len(tokens), partial(self._answer, request, tokens))

    async def detokenize(self, body: bytes) -> Response:
        """The text of tokens; errors as :meth:`tokenize`."""
        request = await decoded(body, _read_detokenize)
        self._check_model(request.model)
        generator = self._service.generator
        check_tokens(request.tokens, generator.info.vocab_size, "tokens")
        return json_response(DetokenizeAnswer(await generator.decode(request.tokens)))

    async def _tokens(self, request: TokenizeRequest, ask: Ask | None) -> Sequence[int]:
        if ask is not None:
            return (await self._service.prepared(ask)).prompt
        with_special = request.add_special_tokens is not False
        return await self._service.generator.encode(
            request.prompt or "", add_special_tokens=with_special, counting=True
        )

    def _answer(self, request: TokenizeRequest, tokens: tuple[int, ...]) -> Response:
        texts = self._service.generator.token_texts
        strs = tuple(shown(token_bytes(token, texts)) for token in tokens) if request.return_token_strs else None
        return json_response(TokenizeAnswer(len(tokens), self._service.generator.info.max_model_len, tokens, strs))

    def _check_model(self, name: str | None) -> None:
        if name is not None:
            self._service.models.check(name)


def check_tokens(tokens: Sequence[int], vocab_size: int, param: str) -> None:
    """Refuse tokens that the model does not have.

    Raises:
        RequestError: there is one.
    """
    if tokens and max(tokens) >= vocab_size:
        message = f"`{param}` has token {max(tokens)}; the model's tokens are 0 to {vocab_size - 1}"
        raise RequestError(message, param=param)


def _read_tokenize(body: bytes) -> tuple[TokenizeRequest, Ask | None]:
    """The request, with what it asks for where it is a conversation."""
    value = decode_object(body)
    request = convert_with_turns(value, TokenizeRequest)
    refuse_unserved(value, TOKENIZE_HARMLESS_ONLY)
    if (request.prompt is None) == (request.messages is None):
        raise RequestError("send either `prompt` or `messages`", param="prompt")
    return request, None if request.messages is None else _ask(request)


def _read_detokenize(body: bytes) -> DetokenizeRequest:
    return convert(decode_object(body), DetokenizeRequest)


def _ask(request: TokenizeRequest) -> Ask:
    return Ask(
        model=request.model or "",
        messages=conversation(request.messages or []),
        tools=read_tools(request.tools),
        chat_template_kwargs=request.chat_template_kwargs or {},
    )
