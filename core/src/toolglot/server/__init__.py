"""The HTTP server: OpenAI's API over one stream of events."""

from __future__ import annotations

from toolglot.server.app import create_app, run
from toolglot.server.config import ServerConfig

__all__ = ["ServerConfig", "create_app", "run"]
