"""The HTTP server: OpenAI's and Anthropic's APIs over one stream of events."""

from __future__ import annotations

from toolglot.server.app import create_app
from toolglot.server.config import ServerConfig
from toolglot.server.running import run

__all__ = ["ServerConfig", "create_app", "run"]
