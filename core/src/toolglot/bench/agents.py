"""Tools as agents and servers of the Model Context Protocol offer them, with questions to ask about them.

Names and parameters are those that the servers publish; the descriptions and the questions are ours.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

import msgspec
from msgspec import Struct

from toolglot.requests import Tool


class Offered(Struct, frozen=True, forbid_unknown_fields=True):
    """A tool as its server declares it."""

    name: str
    description: str
    parameters: dict[str, Any]

    @property
    def tool(self) -> Tool:
        """The same as a request offers it."""
        return Tool(self.name, self.description, self.parameters)


class ToolSet(Struct, frozen=True, forbid_unknown_fields=True):
    """The tools that one server or agent offers together."""

    about: str
    tools: tuple[Offered, ...]
    questions: tuple[str, ...]


@cache
def tool_sets() -> dict[str, ToolSet]:
    """All sets by name, in the order of their names."""
    files = (resources.files(__package__) / "agents").iterdir()
    return {
        file.name.removesuffix(".json"): msgspec.json.decode(file.read_bytes(), type=ToolSet)
        for file in sorted(files, key=lambda file: file.name)
    }
