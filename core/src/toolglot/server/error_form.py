"""Which API's form a request is answered in."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Scope

from toolglot.server import record
from toolglot.server.errors import ApiError, error_response
from toolglot.server.messages.errors import anthropic_error_response

_ANTHROPIC = "/v1/messages"
_COMMON = "/v1/models"


def is_anthropic(scope: Scope) -> bool:
    """Whether the request is one of Anthropic's API: by its path, or by its header where the path is of another too."""
    path = scope["path"]
    return _within(path, _ANTHROPIC) or (_within(path, _COMMON) and "anthropic-version" in Headers(scope=scope))


def _within(path: str, root: str) -> bool:
    return path == root or path.startswith(f"{root}/")


def error_answer(error: ApiError, scope: Scope) -> Response:
    """The whole answer for ``error``: Anthropic's body for requests of its API, OpenAI's for all else."""
    if not is_anthropic(scope):
        return error_response(error)
    request = record.current()
    return anthropic_error_response(error, None if request is None else request.id)
