"""Which API's error body a path is answered with."""

from __future__ import annotations

from starlette.responses import Response

from toolglot.server import record
from toolglot.server.errors import ApiError, error_response
from toolglot.server.messages.errors import anthropic_error_response

_ANTHROPIC = "/v1/messages"


def is_anthropic(path: str) -> bool:
    """Whether the path is one of Anthropic's API."""
    return path == _ANTHROPIC or path.startswith(f"{_ANTHROPIC}/")


def error_answer(error: ApiError, path: str) -> Response:
    """The whole answer for ``error`` at ``path``: Anthropic's body for its own API, OpenAI's for all else."""
    if not is_anthropic(path):
        return error_response(error)
    request = record.current()
    return anthropic_error_response(error, None if request is None else request.id)
