"""Errors as clients see them: a status, and OpenAI's error body."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.responses import Response

from toolglot.errors import (
    EngineError,
    EngineUnavailableError,
    GrammarError,
    QueueFullError,
    RequestError,
    ToolglotError,
)
from toolglot.server.encoding import encode_json

logger = logging.getLogger("toolglot.server")


TOO_LONG = "context_length_exceeded"
"""The code of a request that is longer than the model can take."""


def takes_together(tokens: int) -> str:
    """What is said of a model's limit."""
    return f"this model takes {tokens} for prompt and reply together"


class ApiError(ToolglotError):
    """An error with its place in HTTP; ``param`` is the request's field at fault, ``code`` a word for programs."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        param: str | None = None,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.status = status
        self.message = message
        self.param = param
        self.code = code
        self.headers = dict(headers or {})
        super().__init__(message)


class ErrorDetail(Struct, frozen=True):
    """The inside of :class:`ErrorBody`."""

    message: str
    type: str
    param: str | None
    code: str | None


class ErrorBody(Struct, frozen=True):
    """OpenAI's error body."""

    error: ErrorDetail


def api_error(error: Exception) -> ApiError:
    """The error that a client is told for ``error``. What nobody foresaw is logged, and told without its inside."""
    match error:
        case ApiError():
            return error
        case GrammarError():
            return ApiError(400, str(error), param=error.param or "tools", code="invalid_schema")
        case RequestError():
            return ApiError(400, str(error), param=error.param)
        case QueueFullError():
            return ApiError(429, str(error), code="queue_full", headers={"Retry-After": str(error.retry_after)})
        case EngineUnavailableError():
            headers = {"Retry-After": str(error.retry_after)}
            return ApiError(503, str(error), code="engine_unavailable", headers=headers)
        case EngineError():
            logger.error("generation failed: %s", error)
            return ApiError(500, str(error), code="engine_error")
        case HTTPException():
            return ApiError(error.status_code, str(error.detail), headers=error.headers)
    logger.error("a request failed unexpectedly", exc_info=error)
    return ApiError(500, "the server failed on this request; its log says why", code="internal_error")


def error_bytes(error: ApiError) -> bytes:
    """The error body of ``error``, as JSON."""
    return encode_json(ErrorBody(ErrorDetail(error.message, _kind(error.status), error.param, error.code)))


def error_response(error: ApiError) -> Response:
    """The whole answer for ``error``."""
    return Response(error_bytes(error), error.status, error.headers, "application/json")


def _kind(status: int) -> str:
    match status:
        case 401:
            return "authentication_error"
        case 429:
            return "rate_limit_error"
    return "server_error" if status >= 500 else "invalid_request_error"
