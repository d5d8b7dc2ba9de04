"""How an application is run: uvicorn, with an end that cuts nothing."""

from __future__ import annotations

import asyncio
import socket
import sys
import time
from contextlib import suppress
from types import FrameType

import uvicorn
from starlette.applications import Starlette
from uvicorn.config import STARTUP_FAILURE

from toolglot.server.config import ServerConfig
from toolglot.server.connection import connection_class
from toolglot.server.life import Life

_CLOSING_SECONDS = 2
"""How long connections have to close when nothing is answered any more."""


class Server(uvicorn.Server):
    """uvicorn's server. Told to stop, it first answers what it has, for ``patience`` seconds at most, and refuses the
    rest; told again, it stops at once.
    """

    def __init__(self, config: uvicorn.Config, life: Life, patience: float) -> None:
        super().__init__(config)
        self._life = life
        self._patience = patience
        self._deadline = 0.0

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self._life.draining:
            self.config.timeout_graceful_shutdown = 0
            super().handle_exit(sig, frame)
        else:
            self._captured_signals.append(sig)
            self.drain()

    def drain(self) -> None:
        """Begin to stop."""
        self._deadline = time.monotonic() + self._patience
        self._life.draining = True

    async def on_tick(self, counter: int) -> bool:
        drained = self._life.draining and not self._life.active
        if late := self._life.draining and not drained and time.monotonic() > self._deadline:
            self.config.timeout_graceful_shutdown = 0
        return await super().on_tick(counter) or drained or late

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        cut = [task for task in self.server_state.tasks if task.cancelling()]
        if cut:  # the process ends by a signal, and would not let them release and log what is theirs
            await asyncio.wait(cut, timeout=_CLOSING_SECONDS)


def uvicorn_config(app: Starlette, config: ServerConfig) -> uvicorn.Config:
    """Settings for uvicorn. What it logs goes to the handlers of the root logger; requests are logged by ours."""
    return uvicorn.Config(
        app,
        host=config.host,
        port=config.port,
        log_config=None,
        access_log=False,
        http=connection_class(config.client_timeout),
        ws="none",
        server_header=False,
        timeout_graceful_shutdown=_CLOSING_SECONDS,
    )


def run(app: Starlette, config: ServerConfig) -> None:
    """Serve until the process is told to stop; what runs then has ``shutdown_timeout`` seconds to end."""
    server = Server(uvicorn_config(app, config), app.state.life, config.shutdown_timeout)
    with suppress(KeyboardInterrupt):  # uvicorn raises it again when all is done
        server.run()
    if not server.started:
        sys.exit(STARTUP_FAILURE)
