"""From a request to a prompt: messages are checked, a chat template writes them, and client text stays text."""

from __future__ import annotations

from toolglot.prompts.messages import count_tool_calls, read_messages
from toolglot.prompts.renderer import Prompt, PromptRenderer, Renderer
from toolglot.prompts.templates import find_template

__all__ = ["Prompt", "PromptRenderer", "Renderer", "count_tool_calls", "find_template", "read_messages"]
