"""``/v1/models``, which OpenAI's and Anthropic's clients both ask for."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolglot.server.encoding import json_response
from toolglot.server.error_form import is_anthropic
from toolglot.server.messages.models import model_info, model_page
from toolglot.server.models import ServedModels


def model_routes(models: ServedModels) -> list[Route]:
    """The list, and each model by its name, in the form of the client that asks."""

    async def every(request: Request) -> Response:
        found = models.list()
        return _json(model_page(found) if is_anthropic(request.scope) else found)

    async def one(request: Request) -> Response:
        found = models.check(request.path_params["name"])
        return _json(model_info(found) if is_anthropic(request.scope) else found)

    return [Route("/v1/models", every), Route("/v1/models/{name:path}", one)]


def _json(value: object) -> Response:
    return json_response(value, headers={"Vary": "anthropic-version"})
