"""What a reply is held to, and what of a request's schemas that leaves out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from toolglot.errors import GrammarError, UnenforceableError
from toolglot.parser import Parser
from toolglot.requests import Named, Request, StrictLevel, Tool
from toolglot.schemas import Finding, normalise
from toolglot.schemas.deadline import deadline
from toolglot.schemas.pointer import value_at
from toolglot.server.extension import Relaxed
from toolglot.server.plain import PlainText
from toolglot.server.response_format import ResponseFormat
from toolglot.structural_tag import StructuralTag

FREE_ORDER = "property order free: presence and uniqueness not enforced"
LEFT_OUT = "the tool cannot be called in this reply"
_ANY_OBJECT = {"type": "object"}
_SECONDS = 1.0
"""How much of a processor's time the schemas of a request may take before their grammar is compiled."""
_OF_OBJECTS = frozenset(
    (
        *("properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties"),
        *("maxProperties", "dependentRequired", "dependentSchemas", "dependencies", "unevaluatedProperties"),
    )
)
"""Keywords that say something of an object's members as a whole; ``enum`` and ``const`` do where they hold objects."""
_TOOL = re.compile(r"tools\[(?P<number>\d+)\]\.(?P<field>.+)")


class Held(Struct, frozen=True):
    """A request with what its reply is held to: ``tag``, or nothing; and what that leaves out of the schemas."""

    request: Request
    tag: StructuralTag | None
    relaxed: tuple[Relaxed, ...] = ()


def hold(
    parser: Parser | PlainText, request: Request, response_format: ResponseFormat | None, *, enforce_calls: bool
) -> Held:
    """Find what the reply to a request is held to. ``enforce_calls``: whether calls are, ever.

    Raises:
        GrammarError: a schema that must be held to cannot be; ``param`` is the field with it.
    """
    with deadline(_SECONDS):
        return _held(parser, request, response_format, enforce_calls=enforce_calls)


def _held(
    parser: Parser | PlainText, request: Request, response_format: ResponseFormat | None, *, enforce_calls: bool
) -> Held:
    relaxed = list(_of_content(request, response_format))
    constrained = request if enforce_calls else _without_calls(request)
    if constrained is None:
        return Held(request, None)
    tools = tuple(_audited(constrained, tool, relaxed) for tool in constrained.tools)
    tag = _tag(parser, replace(constrained, tools=tools), relaxed)
    return Held(request, None) if tag is None else Held(replace(request, constrained=True), tag, tuple(relaxed))


def without_preferences(request: Request, error: GrammarError) -> tuple[Request, tuple[Relaxed, ...]]:
    """The request without strictness that is only preferred, as ``error`` came of it, and what that leaves out."""
    tools = tuple(replace(tool, strict=None) if tool.strict == "prefer" else tool for tool in request.tools)
    relaxed = tuple(_note(tool, tool, error) for tool in request.tools if tool.strict == "prefer")
    return replace(request, tools=tools), relaxed


def released(held: Held, response_format: ResponseFormat | None, error: UnenforceableError) -> Held:
    """The same without its grammar, which the engine cannot hold the reply to.

    Raises:
        UnenforceableError: the client demands it: a call, a strict tool or a strict response format.
    """
    request = held.request
    field = _demand(request, response_format)
    if field is not None:
        raise UnenforceableError(f"`{field}`: {error}", param=field) from error
    return Held(replace(request, constrained=False), None, held.relaxed)


def _demand(request: Request, response_format: ResponseFormat | None) -> str | None:
    """The field that demands a grammar, if one does."""
    if request.call_demanded:
        return "tool_choice"
    sent = request.prompt_tools or request.tools
    strict = next((at for at, tool in enumerate(sent) if tool.strict is True), None)
    if request.calls_allowed and strict is not None:
        return f"tools[{strict}].function.strict"
    return "response_format" if response_format is not None and response_format.strict else None


def recommended_level(parser: Parser | PlainText | None) -> StrictLevel | None:
    """The strict level that the makers of the parser's model recommend, if they recommend one."""
    return getattr(getattr(parser, "plugin", None), "strict_level", None)


def _without_calls(request: Request) -> Request | None:
    """The request where calls are held to nothing: None where there is nothing else to hold it to."""
    if request.calls_allowed or request.content_schema is None:
        return None
    return replace(request, tools=())


def _of_content(request: Request, response_format: ResponseFormat | None) -> Iterator[Relaxed]:
    if response_format is None:
        return
    found = response_format.normalised()
    if not request.call_demanded:  # then there is no content
        for finding in left_out(response_format.schema, found.findings, free_order=request.any_property_order):
            yield Relaxed(finding.path, finding.keyword, finding.reason, response_format=response_format.name)


def _audited(request: Request, tool: Tool, relaxed: list[Relaxed]) -> Tool:
    """The tool as it goes into the grammar: one whose schema cannot, and need not, takes any object."""
    if not request.enforces(tool):
        return tool
    try:
        findings = normalise(tool.parameters).findings
    except GrammarError as error:
        if _must_hold(request, tool):
            raise _refusal(request, tool, f"tool {tool.name!r}: {error}") from error
        spared = replace(tool, parameters=_ANY_OBJECT)
        relaxed.append(_note(tool, spared, error))
        return spared
    free_order = request.any_property_order and tool.strict is not True
    for finding in left_out(tool.parameters, findings, free_order=free_order):
        if tool.strict is True:
            reason = f"{finding.path} cannot be enforced: {finding.reason}"
            raise _refusal(request, tool, f"tool {tool.name!r} is strict, and {reason}")
        relaxed.append(Relaxed(finding.path, finding.keyword, finding.reason, tool=tool.name))
    return tool


def left_out(schema: Any, findings: Iterable[Finding], *, free_order: bool) -> Iterator[Finding]:
    """The keywords of a schema that a grammar does not hold to. ``free_order``: it leaves the order of members free."""
    for finding in findings:
        if finding.level == "unenforceable":
            yield finding
        elif free_order and (finding.keyword in _OF_OBJECTS or _names_objects(schema, finding)):
            yield replace(finding, level="unenforceable", reason=FREE_ORDER)


def _names_objects(schema: Any, finding: Finding) -> bool:
    """Whether it is of an ``enum`` or a ``const`` that holds an object."""
    return finding.keyword in ("enum", "const") and _has_object(value_at(schema, finding.path))


def _has_object(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(map(_has_object, value)))


def _tag(parser: Parser | PlainText, request: Request, relaxed: list[Relaxed]) -> StructuralTag | None:
    """The grammar. A tool that the format cannot write, and that need not be held to, frees none of the others."""
    offered = request
    while True:
        try:
            return parser.constrain(offered)
        except GrammarError as error:
            fault = _TOOL.match(error.param or "")
            if fault is None:
                raise
            tool = offered.tools[int(fault["number"])]
            spared = _spared(tool, fault["field"])
            if _must_hold(request, tool) or (spared is None and len(offered.tools) == 1):
                raise _refusal(request, tool, str(error), fault["field"]) from error
            relaxed.append(_note(tool, spared, error))
            offered = replace(offered, tools=_exchanged(offered.tools, tool, spared))


def _spared(tool: Tool, field: str) -> Tool | None:
    """The tool with any object for its arguments, if that may help; else None: it is left out."""
    schema_at_fault = field.endswith("parameters") and tool.parameters != _ANY_OBJECT
    return replace(tool, parameters=_ANY_OBJECT) if schema_at_fault else None


def _note(tool: Tool, spared: Tool | None, error: GrammarError) -> Relaxed:
    if spared is None:
        return Relaxed("", "name", f"{LEFT_OUT}: {error}", tool=tool.name)
    return Relaxed("", "parameters", str(error), tool=tool.name)


def _exchanged(tools: Iterable[Tool], old: Tool, new: Tool | None) -> tuple[Tool, ...]:
    found = (new if tool is old else tool for tool in tools)
    return tuple(tool for tool in found if tool is not None)


def _must_hold(request: Request, tool: Tool) -> bool:
    """Whether a tool that cannot be enforced refuses the request."""
    return tool.strict is True or request.tool_choice == Named(tool.name)


def _refusal(request: Request, tool: Tool, reason: str, field: str = "function.parameters") -> GrammarError:
    sent = request.prompt_tools or request.tools  # those of the request, of which this reply may be allowed a part
    number = [other.name for other in sent].index(tool.name)
    return GrammarError(reason, param=f"tools[{number}].{field}")
