"""API keys."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable

from starlette.types import ASGIApp, Receive, Scope, Send

from toolglot.server import record
from toolglot.server.error_form import error_answer
from toolglot.server.errors import ApiError

OPEN_PATHS = frozenset({"/health", "/ready"})


class ApiKeyAuth:
    """ASGI middleware: asks for one of the keys on every route but the open ones.

    A key comes as ``Authorization: Bearer KEY``, as OpenAI's clients send it, or as ``x-api-key: KEY``, as Anthropic's
    do. Which key is right, and how much of a wrong one, cannot be told from the time that the answer takes.

    ``isolate_cache`` keeps the prompts of each key apart in the engine's prefix cache.
    """

    def __init__(self, app: ASGIApp, keys: Iterable[str], *, isolate_cache: bool = False) -> None:
        self._app = app
        self._isolate_cache = isolate_cache
        self._keys = [key.encode() for key in keys]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in OPEN_PATHS or self._authorized(scope):
            await self._app(scope, receive, send)
        else:
            await error_answer(_unauthorized(), scope)(scope, receive, send)

    def _authorized(self, scope: Scope) -> bool:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
        given = [headers.get(b"x-api-key", b"").strip(), token.strip() if scheme.lower() == b"bearer" else b""]
        right = [key for key in self._keys for one in given if hmac.compare_digest(one, key)]  # all, always
        if right and self._isolate_cache and (current := record.current()):
            current.cache_salt = hashlib.sha256(right[0]).digest()
        return bool(right)


def _unauthorized() -> ApiError:
    message = "a wrong API key, or none: send it as `Authorization: Bearer KEY` or as `x-api-key: KEY`"
    return ApiError(401, message, code="invalid_api_key", headers={"WWW-Authenticate": "Bearer"})
