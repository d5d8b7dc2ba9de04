"""Errors of the Messages API: Anthropic's body and types."""

from __future__ import annotations

import re

from msgspec import UNSET, Struct, UnsetType
from starlette.responses import Response

from toolglot.server.encoding import encode_json
from toolglot.server.errors import ApiError

_OVERLOADED = 529
_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
    _OVERLOADED: "overloaded_error",
}
_RENAMED = (
    (re.compile(r"(tools\[\d+\])\.function\.parameters"), r"\1.input_schema"),
    (re.compile(r"(tools\[\d+\])\.function\."), r"\1."),
    (re.compile(r"(^|`)response_format(\.json_schema)?"), r"\1output_config.format"),
)
"""What the fields of Chat Completions, which shared code names, are called here."""


class ErrorCode(Struct, frozen=True):
    """A word for programs."""

    error_code: str


class ErrorDetail(Struct, frozen=True):
    """The inside of :class:`ErrorBody`."""

    type: str
    message: str
    details: ErrorCode | UnsetType = UNSET


class ErrorBody(Struct, frozen=True, tag="error"):
    """Anthropic's error body; as the data of an ``error`` event too."""

    error: ErrorDetail
    request_id: str | None


def error_body(error: ApiError, request_id: str | None) -> ErrorBody:
    """What a client is told of ``error``; the message names the field at fault."""
    status = _status(error)
    kind = _TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
    details = UNSET if error.code is None else ErrorCode(error.code)
    return ErrorBody(ErrorDetail(kind, _message(error), details), request_id)


def anthropic_error_response(error: ApiError, request_id: str | None = None) -> Response:
    """The whole answer for ``error``. A full queue is a 529, whose type tells it from a client's own rate."""
    body = encode_json(error_body(error, request_id))
    return Response(body, _status(error), error.headers, "application/json")


def _status(error: ApiError) -> int:
    return _OVERLOADED if error.code == "queue_full" else error.status


def _message(error: ApiError) -> str:
    field, message = _renamed(error.param or ""), _renamed(error.message)
    return message if field in message else f"{field}: {message}"


def _renamed(text: str) -> str:
    for name, ours in _RENAMED:
        text = name.sub(ours, text)
    return text
