"""The application: routes, middleware, and how it is run."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import Route

from toolglot.engine.protocol import Engine
from toolglot.parser import Parser
from toolglot.prompts import Renderer
from toolglot.server.auth import BearerAuth
from toolglot.server.chat import ChatCompletions
from toolglot.server.config import ServerConfig
from toolglot.server.encoding import encode_json
from toolglot.server.endpoint import Endpoint
from toolglot.server.errors import ApiError, api_error, error_response
from toolglot.server.generation import Generator
from toolglot.server.metrics import CONTENT_TYPE
from toolglot.server.models import ServedModels

_SWITCH_SECONDS = 0.0005
"""How long a thread that reads a schema may keep the event loop waiting; Python's own measure is ten times that."""


def create_app(
    config: ServerConfig, *, engine: Engine, tokenizer: Any, prompts: Renderer, parser: Parser | None
) -> Starlette:
    """The application that serves ``engine``. It starts the engine when it starts, and stops it when it stops."""
    generator = Generator(config, engine=engine, tokenizer=tokenizer, prompts=prompts, parser=parser)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        switch_seconds = sys.getswitchinterval()
        sys.setswitchinterval(_SWITCH_SECONDS)
        await engine.start()
        try:
            yield
        finally:
            await engine.stop()
            generator.close()
            sys.setswitchinterval(switch_seconds)

    return Starlette(
        routes=_routes(config, generator),
        middleware=[] if config.api_key is None else [Middleware(BearerAuth, key=config.api_key)],
        exception_handlers={HTTPException: _on_error, ApiError: _on_error, Exception: _on_error},
        lifespan=lifespan,
    )


def run(app: Starlette, config: ServerConfig) -> None:
    """Serve until the process is told to stop; running replies then have ``shutdown_timeout`` seconds to end.

    What uvicorn logs goes to the handlers of the root logger.
    """
    uvicorn.run(
        app,
        host=config.host,
        port=config.port,
        log_config=None,
        timeout_graceful_shutdown=config.shutdown_timeout,
    )


def _routes(config: ServerConfig, generator: Generator) -> list[Route]:
    models = ServedModels(config, generator.info)
    chat = ChatCompletions(config, models, generator)

    async def list_models(_: HttpRequest) -> Response:
        return _json(models.list())

    async def show_metrics(_: HttpRequest) -> Response:
        return Response(generator.metrics.exposition(), media_type=CONTENT_TYPE)

    async def show_model(request: HttpRequest) -> Response:
        return _json(models.check(request.path_params["name"]))

    return [
        Route("/v1/chat/completions", Endpoint(chat.answer, max_body_bytes=config.max_body_bytes), methods=["POST"]),
        Route("/v1/models", list_models),
        Route("/v1/models/{name:path}", show_model),
        Route("/health", _health),
        Route("/metrics", show_metrics),
        Route("/version", _version),
    ]


async def _health(_: HttpRequest) -> Response:
    return _json({"status": "ok"})


async def _version(_: HttpRequest) -> Response:
    return _json({"version": version("toolglot")})


async def _on_error(_: HttpRequest, error: Exception) -> Response:
    return error_response(api_error(error))


def _json(value: Any) -> Response:
    return Response(encode_json(value), media_type="application/json")
