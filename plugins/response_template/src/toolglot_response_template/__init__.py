"""Checkpoints whose tokenizer carries a ``response_template`` (``hf``): transformers' description of how a reply reads.

The description (version 1: regions between delimiters) is turned into a wire format, which then streams, constrains and
renders like any other; transformers is not needed. More than a declaration, since the declaration is made here:
``patterns`` turns delimiters into spellings, ``calls`` the region of tool calls into a dialect. What has no place in a
wire format is refused with the reason: regular expressions that are no spelling, other regions, other content.
Arguments that are no JSON are typed by the tool's schema. Checked against ``parse_response`` of transformers 5.24.
"""

from collections.abc import Mapping
from typing import Any

from toolglot import PluginError
from toolglot.formats import Frame, Reasoning, WireFormat, WireFormatParser
from toolglot_response_template.calls import dialect
from toolglot_response_template.patterns import MisfitError, spellings

_THINKING = ("thinking", "reasoning_content", "reasoning")


def wire_format(template: Mapping[str, Any]) -> WireFormat:
    """The wire format that a ``response_template`` describes.

    Raises:
        MisfitError: no wire format says what it says.
    """
    if template.get("version", 1) != 1:
        raise MisfitError(f"its version is {template['version']}, not 1")
    fields = dict(template.get("fields") or {})
    calls, content = fields.pop("tool_calls", None), fields.pop("content", {})
    thinking = next((fields.pop(name) for name in _THINKING if name in fields), None)
    if calls is None:
        raise MisfitError("it has no field `tool_calls`")
    if fields:
        raise MisfitError(f"there is no place for the field `{next(iter(fields))}`")
    frame = _frame(content, "content")
    return WireFormat(
        calls=(dialect(calls),),
        reasoning=thinking and Reasoning(_fence(thinking), again=bool(thinking.get("repeats"))),
        content=frame if frame.open != ("",) else None,
        trailer=frame.close if frame.open == ("",) and frame.close != ("",) else (),
    )


def _fence(field: Mapping[str, Any]) -> Frame:
    frame = _frame(field, "thinking")
    if frame.open == ("",) or frame.close == ("",):
        raise MisfitError("the field `thinking` is not between two delimiters")
    return frame


def _frame(field: Mapping[str, Any], name: str) -> Frame:
    if field.get("content", "text") != "text" or "transform" in field:
        raise MisfitError(f"the field `{name}` is not plain text")
    return Frame(spellings(field, "open"), spellings(field, "close"))


def _of_tokenizer(tokenizer: Any) -> WireFormat:
    template = getattr(tokenizer, "response_template", None)
    if template is None:
        raise PluginError("parser 'hf' needs a tokenizer that carries a `response_template`; choose a parser by name")
    try:
        return wire_format(template)
    except MisfitError as error:
        raise PluginError(f"parser 'hf' cannot read this model's `response_template`: {error}") from error


plugin = WireFormatParser(_of_tokenizer)
