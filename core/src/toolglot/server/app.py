"""The application: routes and middleware."""

from __future__ import annotations

import gc
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import Route

from toolglot.engine.protocol import Engine
from toolglot.parser import Parser
from toolglot.prompts import Renderer
from toolglot.server.admission import Admission
from toolglot.server.auth import ApiKeyAuth
from toolglot.server.chat import ChatCompletions
from toolglot.server.config import ServerConfig
from toolglot.server.endpoint import post
from toolglot.server.engine_metrics import EngineMetrics
from toolglot.server.error_form import error_answer
from toolglot.server.errors import api_error
from toolglot.server.failures import Failures
from toolglot.server.generation import Generator
from toolglot.server.life import Life
from toolglot.server.messages.api import Messages
from toolglot.server.model_routes import model_routes
from toolglot.server.models import ServedModels
from toolglot.server.observation import Observation
from toolglot.server.observed_engine import ObservedEngine
from toolglot.server.offline import OfflineParse
from toolglot.server.openapi import openapi_route
from toolglot.server.responses import responses_routes
from toolglot.server.service import Service
from toolglot.server.status import status_routes
from toolglot.server.text import text_routes
from toolglot.server.traffic import Traffic

_SWITCH_SECONDS = 0.0002
"""How long a thread that reads a schema may keep the event loop waiting; Python's own measure is much longer."""


def create_app(
    config: ServerConfig, *, engine: Engine, tokenizer: Any, prompts: Renderer, parser: Parser | None
) -> Starlette:
    """The application that serves ``engine``. It starts the engine when it starts, and stops it when it stops.

    Its ``state.life`` says how far it is; who runs it sets ``draining`` before the end.
    """
    names = config.served_model_names or (engine.info.name,)
    traffic, life = Traffic(names[0]), Life()
    traffic.add(EngineMetrics(names[0], engine))
    observed = ObservedEngine(engine, traffic)
    generator = Generator(config, engine=observed, tokenizer=tokenizer, prompts=prompts, parser=parser)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        with _responsive():
            await engine.start()
            gc.freeze()  # looking through models and libraries for garbage takes tenths of a second: all else waits
            life.started = True
            try:
                yield
            finally:
                life.started = False
                await engine.stop()
                generator.close()

    def exposition() -> bytes:
        return generator.metrics.exposition() + traffic.exposition()

    app = Starlette(
        routes=[
            *_routes(config, generator),
            *status_routes(engine, life, exposition),
            openapi_route(names, asks_for_key=bool(config.api_keys)),
        ],
        middleware=_middleware(config, life, traffic),
        exception_handlers={HTTPException: _on_error},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False  # behind a proxy with TLS, a redirect would lead to another address
    app.state.life = life
    return app


@contextmanager
def _responsive() -> Iterator[None]:
    """Within it, threads give way to the event loop soon. At its end, this and Python's collector are as before."""
    switch_seconds = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(switch_seconds)
        gc.unfreeze()


def _routes(config: ServerConfig, generator: Generator) -> list[Route]:
    models = ServedModels(config, generator.info)
    service = Service(config, models, generator)
    messages = Messages(service)
    return [
        post("/v1/chat/completions", ChatCompletions(service).answer, config),
        post("/v1/messages", messages.create, config),
        post("/v1/messages/count_tokens", messages.count_tokens, config),
        *responses_routes(service),
        *text_routes(service),
        post("/v1/toolglot/parse", OfflineParse(service).answer, config),
        *model_routes(models),
    ]


def _middleware(config: ServerConfig, life: Life, traffic: Traffic) -> list[Middleware]:
    """The first is the outermost. A browser asks whether it may ask without a key, so CORS comes before keys."""
    cors = Middleware(
        CORSMiddleware,
        allow_origins=config.allowed_origins,
        allow_methods=("GET", "POST", "DELETE"),
        allow_headers=("*",),
        expose_headers=("X-Request-Id", "request-id", "Retry-After"),
    )
    keys = [Middleware(ApiKeyAuth, keys=config.api_keys, isolate_cache=config.isolate_prefix_cache)]
    return [
        Middleware(Observation, traffic=traffic, log_prompts=config.log_prompts),
        *([cors] if config.allowed_origins else []),
        Middleware(Failures),
        *(keys if config.api_keys else []),
        Middleware(Admission, life=life, max_requests=config.max_requests, body_seconds=config.client_timeout),
    ]


async def _on_error(request: HttpRequest, error: Exception) -> Response:
    return error_answer(api_error(error), request.scope)
