"""Prompts as they are: Completions, and the tokens of a text or a conversation."""

from __future__ import annotations

from starlette.routing import Route

from toolglot.server.endpoint import post
from toolglot.server.service import Service
from toolglot.server.text.api import Completions
from toolglot.server.text.tokens import Tokens


def text_routes(service: Service) -> list[Route]:
    """The routes of Completions, ``/tokenize`` and ``/detokenize``."""
    tokens = Tokens(service)
    return [
        post("/v1/completions", Completions(service).answer, service.config),
        post("/tokenize", tokens.tokenize, service.config),
        post("/detokenize", tokens.detokenize, service.config),
    ]
