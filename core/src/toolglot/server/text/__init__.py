"""Prompts as they are: Completions, and the tokens of a text or a conversation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.responses import Response
from starlette.routing import Route

from toolglot.server.endpoint import Endpoint
from toolglot.server.service import Service
from toolglot.server.text.api import Completions
from toolglot.server.text.tokens import Tokens


def text_routes(service: Service) -> list[Route]:
    """The routes of Completions, ``/tokenize`` and ``/detokenize``."""
    tokens = Tokens(service)
    answers: dict[str, Callable[[bytes], Awaitable[Response]]] = {
        "/v1/completions": Completions(service).answer,
        "/tokenize": tokens.tokenize,
        "/detokenize": tokens.detokenize,
    }
    most = service.config.max_body_bytes
    return [Route(path, Endpoint(answer, max_body_bytes=most), methods=["POST"]) for path, answer in answers.items()]
