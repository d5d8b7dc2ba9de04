"""Write families.md from the installed parsers: ``python docs/families.py``."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any

import importlib_metadata

from toolglot import Call, Parser, load_parser
from toolglot.errors import PluginError
from toolglot.formats import Reasoning
from toolglot.plugins import GROUP
from toolglot.requests import Request, Tool

PAGE = Path(__file__).parent / "families.md"
HEAD = """\
# Model families

Every parser that comes with toolglot, made by `python docs/families.py` from the parsers themselves. The names in one
row are one parser; each is a value for `--tool-call-parser` and `--reasoning-parser`. `--tool-call-parser auto` chooses
for you, and `pip install toolglot-all` brings all of them.

- **Reasoning**: the markers around it, and whether the opener of a call ends it.
- **Parallel**: whether several calls may stand in one reply.
- **Arguments**: `JSON` is passed on byte for byte, as it comes; `typed` values are read as the tool's schema or the
  format types them, strings as they come, others when they are whole.
- **Strict**: what a grammar enforces: `always` includes `tool_choice: "auto"`; `forced` is `required` or a named tool
  only, since the format's calls begin like ordinary text.

| Parser | Package | Reasoning | Parallel | Arguments | Strict |
|---|---|---|---|---|---|
"""
WEATHER = Tool(
    "get_weather",
    None,
    {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}},
    strict=True,
)
BAR = "\\|"
CALL = Call("functions.get_weather:0", "get_weather", '{"city": "Oslo", "days": 3}')


class Family:
    """The parsers that are one: their names, and what is known of them."""

    def __init__(self, names: list[str], entry: Any) -> None:
        self.names = names
        self.package = str(entry.dist.name)
        self.about = (inspect.getdoc(sys.modules[entry.module]) or "").replace("``", "`")
        try:
            self.parser: Parser | None = load_parser(names[0])
        except PluginError:  # its format is that of a checkpoint, and here there is none
            self.parser = None

    @property
    def row(self) -> str:
        """The table's row."""
        names = ", ".join(f"`{name}`" for name in self.names)
        facts = ("as the checkpoint says", "", "", "") if self.parser is None else _facts(self.parser)
        cells = (names, f"`{self.package}`", *facts)
        return f"| {' | '.join(cell.replace('|', BAR) for cell in cells)} |\n"

    @property
    def example(self) -> str:
        """What a call of it looks like."""
        if self.parser is None:
            return ""
        written = self.parser.render([CALL], tools=[WEATHER]).strip("\n")
        return f"`{self.names[0]}`:\n\n````\n{written}\n````\n"


def _facts(parser: Parser) -> tuple[str, str, str, str]:
    """Reasoning, parallel calls, arguments, strictness."""
    dialect = parser.plugin.form.calls[0]
    return (
        _reasoning(parser.plugin.form.reasoning),
        "no" if dialect.single else "yes",
        "JSON" if dialect.body.verbatim else "typed",
        "forced" if parser.constrain(Request(tools=(WEATHER,))) is None else "always",
    )


def _reasoning(channel: Reasoning | None) -> str:
    if channel is None:
        return "–"
    opener, closer = (text[0].replace("~", "").strip() for text in (channel.fence.open, channel.fence.close))
    return f"`{opener}` … `{closer}`" + (", a call ends it" if channel.call_ends else "")


def families() -> list[Family]:
    """Every parser that is installed, sorted by its first name."""
    grouped: dict[int, tuple[list[str], Any]] = {}
    for entry in sorted(importlib_metadata.entry_points(group=GROUP), key=lambda one: one.name):
        plugin = entry.load()
        grouped.setdefault(id(plugin), ([], entry))[0].append(entry.name)
    found = [Family(names, entry) for names, entry in grouped.values()]
    return sorted((one for one in found), key=lambda one: one.names[0])


def page() -> str:
    """The text of families.md."""
    found = families()
    sections: dict[str, list[str]] = {}
    for one in found:
        sections.setdefault(f"\n## {one.package}\n\n{one.about}\n", []).append(one.example)
    rows = "".join(one.row for one in found)
    return HEAD + rows + "".join("\n".join([about, *examples]) for about, examples in sections.items())


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
