"""The answer to requests that fail."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toolglot.server.error_form import error_answer
from toolglot.server.errors import api_error


class Failures:
    """ASGI middleware: makes an error response of what is raised before a response has begun. A request's failure is
    that request's answer, and nobody else's.

    Starlette's own does so outside of all other middleware, where a response gets neither an id nor a line in the log.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = False

        async def noting(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, noting)
        except Exception as error:  # whatever it is: what nobody foresaw is logged, and told as a 500
            if begun:
                raise  # the connection is cut: nothing else tells a client that it has not got all
            await error_answer(api_error(error), scope)(scope, receive, send)
