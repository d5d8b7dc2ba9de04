"""What is used of vLLM, wherever the installed version has it. Written for 0.32.

Raises:
    InterfaceError: on import, if it has not what nothing works without.
"""

from __future__ import annotations

import importlib
from typing import Any

_PROTOCOL = (
    "vllm.entrypoints.generate.base.protocol",
    "vllm.entrypoints.openai.engine.protocol",
    "vllm.entrypoints.openai.protocol",
)
_TOOL_PARSERS = ("vllm.tool_parsers", "vllm.entrypoints.openai.tool_parsers")


class InterfaceError(ImportError):
    """This version of vLLM has no class of a name that is needed."""


def _found(name: str, modules: tuple[str, ...]) -> Any:
    reasons = []
    for module in modules:
        try:
            return getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError) as error:
            reasons.append(str(error))
    raise InterfaceError(f"it has no {name} ({'; '.join(reasons)})")


def _perhaps(name: str, module: str) -> Any:
    try:
        return _found(name, (module,))
    except InterfaceError:
        return None


ToolParser = _found("ToolParser", _TOOL_PARSERS)
ToolParserManager = _found("ToolParserManager", _TOOL_PARSERS)
ReasoningParser = _found("ReasoningParser", ("vllm.reasoning",))
ReasoningParserManager = _found("ReasoningParserManager", ("vllm.reasoning",))
DeltaMessage = _found("DeltaMessage", _PROTOCOL)
DeltaToolCall = _found("DeltaToolCall", _PROTOCOL)
DeltaFunctionCall = _found("DeltaFunctionCall", _PROTOCOL)
ExtractedToolCallInformation = _found("ExtractedToolCallInformation", _PROTOCOL)
ToolCall = _found("ToolCall", _PROTOCOL)
FunctionCall = _found("FunctionCall", _PROTOCOL)

ToolStrictLevel = _perhaps("ToolStrictLevel", "vllm.tool_parsers.tool_strict_level")
ParserManager = _perhaps("ParserManager", "vllm.parser")
DelegatingParser = _perhaps("DelegatingParser", "vllm.parser.abstract_parser")
HarmonyParser = _perhaps("HarmonyParser", "vllm.parser.harmony")
ValidationError = _perhaps("VLLMValidationError", "vllm.exceptions")


def enforced() -> bool:
    """Whether vLLM's settings let parsers constrain calls."""
    return _perhaps("VLLM_ENFORCE_STRICT_TOOL_CALLING", "vllm.envs") is not False


def version() -> str:
    """VLLM's version, or ``of no known version``."""
    found = _perhaps("__version__", "vllm")
    return found if isinstance(found, str) else "of no known version"


def missing() -> list[str]:
    """What this version does otherwise than 0.32, a sentence each: what follows from it for those who use it."""
    differences = []
    if not hasattr(ToolParser, "engine_based_streaming"):
        differences.append("it does not tell parsers that a stream ends: what they then still hold back is lost")
    if not hasattr(ToolParser, "get_structural_tag"):
        differences.append("it asks parsers for no structural tag: calls are read, and not constrained")
    if ParserManager is None or DelegatingParser is None or not hasattr(ParserManager, "get_parser"):
        differences.append("reasoning and calls of one output are read one after the other, and not as one")
    return differences
