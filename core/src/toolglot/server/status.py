"""The small routes that say how the server is."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

from msgspec import Struct
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import Route

from toolglot.engine.protocol import Engine
from toolglot.server.encoding import json_response
from toolglot.server.life import Life
from toolglot.server.metrics import CONTENT_TYPE


class Status(Struct, frozen=True):
    """The body of ``GET /health`` and ``GET /ready``."""

    status: str


class Version(Struct, frozen=True):
    """The body of ``GET /version``."""

    version: str


def status_routes(engine: Engine, life: Life, exposition: Callable[[], bytes]) -> list[Route]:
    """``/health``: whether the process does its work; ``/ready``: whether it takes on more; and two that just tell."""

    async def health(_: HttpRequest) -> Response:
        dead = life.started and not engine.alive
        return json_response(Status("the engine has died"), 503) if dead else json_response(Status("ok"))

    async def ready(_: HttpRequest) -> Response:
        reason = _not_ready(engine, life)
        return json_response(Status("ready")) if reason is None else json_response(Status(reason), 503)

    async def metrics(_: HttpRequest) -> Response:
        return Response(exposition(), media_type=CONTENT_TYPE)

    async def show_version(_: HttpRequest) -> Response:
        return json_response(Version(version("toolglot")))

    return [
        Route("/health", health),
        Route("/ready", ready),
        Route("/metrics", metrics),
        Route("/version", show_version),
    ]


def _not_ready(engine: Engine, life: Life) -> str | None:
    if life.draining:
        return "stopping"
    if not life.started:
        return "starting"
    if not engine.alive:
        return "the engine has died"
    return None if engine.ready else "the engine fails again and again"
