"""A plugin file: formats made up so that each part of the vocabulary is under the laws, whichever family uses it."""

from __future__ import annotations

from toolglot import register_parser
from toolglot.formats import (
    AlphanumericIds,
    Calls,
    Frame,
    JsonCall,
    Reasoning,
    TemplateIds,
    WireFormat,
    WireFormatParser,
)

TAGGED = Calls(JsonCall(), call=Frame(("<call>\n",), ("\n</call>",)), separator="\n")
ARRAY = Calls(JsonCall(id="id"), section=Frame(("<calls>~[", "[CALLS]~["), ("]~</calls>", "]")), separator=", ")
NESTED = Calls(
    JsonCall(arguments=("parameters", "arguments")),
    call=Frame(("<|one|>",), ("<|/one|>",)),
    section=Frame(("<|all|>\n",), ("\n<|/all|>",)),
)
CHAIN = Calls(JsonCall(), section=Frame(("<|tag|>",)), separator="; ")

FORMATS = {
    "toy_array": WireFormat(
        (ARRAY, TAGGED), Reasoning(call_ends=True, again=True), ids=AlphanumericIds(9), trailer=("</s>",)
    ),
    "toy_nested": WireFormat(
        (NESTED,), Reasoning(Frame(("<|think|>",), ("<|/think|>",))), ids=TemplateIds("{name}:{index}")
    ),
    "toy_chain": WireFormat((CHAIN,)),
}

for name, form in FORMATS.items():
    register_parser(name, WireFormatParser(form))
