"""Chat Completions: requests read into what the service takes, replies written in OpenAI's form."""

from __future__ import annotations

from toolglot.server.chat.api import ChatCompletions

__all__ = ["ChatCompletions"]
