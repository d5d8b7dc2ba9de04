"""OpenAI's Responses API: requests read into what the service takes, replies written as items and typed events."""

from __future__ import annotations

from starlette.routing import Route

from toolglot.server.endpoint import post
from toolglot.server.responses.api import Responses
from toolglot.server.responses.store import ResponseStore
from toolglot.server.responses.stored import StoredResponses
from toolglot.server.service import Service

__all__ = ["responses_routes"]


def responses_routes(service: Service) -> list[Route]:
    """All routes of this API. What is stored is stored for these routes alone."""
    config = service.config
    store = ResponseStore(config.max_stored_responses, config.max_stored_bytes)
    stored = StoredResponses(store)
    responses = Responses(service, store)
    return [
        post("/v1/responses", responses.answer, config),
        post("/v1/responses/input_tokens", responses.count, config),
        Route("/v1/responses/{id}", stored.one, methods=["GET", "DELETE"]),
        Route("/v1/responses/{id}/cancel", stored.cancel, methods=["POST"]),
        Route("/v1/responses/{id}/input_items", stored.input_items, methods=["GET"]),
    ]
