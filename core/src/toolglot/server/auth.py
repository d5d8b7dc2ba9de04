"""The bearer token."""

from __future__ import annotations

import hmac

from starlette.types import ASGIApp, Receive, Scope, Send

from toolglot.server.errors import ApiError, error_response

OPEN_PATHS = frozenset({"/health"})


class BearerAuth:
    """ASGI middleware: asks for the key on every route but the open ones."""

    def __init__(self, app: ASGIApp, key: str) -> None:
        self._app = app
        self._key = key.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in OPEN_PATHS or self._authorized(scope):
            await self._app(scope, receive, send)
        else:
            await error_response(_unauthorized())(scope, receive, send)

    def _authorized(self, scope: Scope) -> bool:
        header: bytes = dict(scope["headers"]).get(b"authorization", b"")
        scheme, _, token = header.partition(b" ")
        return hmac.compare_digest(token.strip(), self._key) and scheme.lower() == b"bearer"


def _unauthorized() -> ApiError:
    message = "a wrong API key, or none: send it as `Authorization: Bearer KEY`"
    return ApiError(401, message, code="invalid_api_key", headers={"WWW-Authenticate": "Bearer"})
