"""toolglot: reliable tool calling for open-weight language models.

The whole public API of parsing is here and in :mod:`toolglot.formats` (declaring a format); both stay stable.
"""

from toolglot.errors import (
    DuplicateParserError,
    GrammarError,
    PluginError,
    PluginFileError,
    PluginLoadError,
    RenderError,
    RequestError,
    ToolglotError,
    UnknownParserError,
)
from toolglot.events import (
    ArgumentsDelta,
    Call,
    CallEnd,
    CallStart,
    ContentDelta,
    Event,
    Message,
    ReasoningDelta,
)
from toolglot.hookspecs import hookimpl
from toolglot.parser import Parser, Stream, load_parser
from toolglot.plugins import parser_names, register_parser
from toolglot.requests import Delta, Named, Output, Request, State, Tool
from toolglot.structural_tag import StructuralTag
from toolglot.vocabulary import added_tokens

__version__ = "0.1.0"

__all__ = [
    "ArgumentsDelta",
    "Call",
    "CallEnd",
    "CallStart",
    "ContentDelta",
    "Delta",
    "DuplicateParserError",
    "Event",
    "GrammarError",
    "Message",
    "Named",
    "Output",
    "Parser",
    "PluginError",
    "PluginFileError",
    "PluginLoadError",
    "ReasoningDelta",
    "RenderError",
    "Request",
    "RequestError",
    "State",
    "Stream",
    "StructuralTag",
    "Tool",
    "ToolglotError",
    "UnknownParserError",
    "__version__",
    "added_tokens",
    "hookimpl",
    "load_parser",
    "parser_names",
    "register_parser",
]
