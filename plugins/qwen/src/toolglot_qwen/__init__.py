"""Qwen3-Coder, Qwen3.5 and later, Nemotron 3 (``qwen3_coder``, ``qwen3_xml``): an element for each argument.

Checked against the chat templates of Qwen3-Coder, Qwen3.5, 3.6 and 3.8, and Nemotron 3 (Nano, Super, Ultra).
Compared: one call, parallel calls, text, reasoning, no arguments, hard arguments, answers.
Booleans and null are Python's up to Qwen3.5 and in Nemotron 3, JSON's later. ``<tool_call>`` is a token of Qwen3.5.
"""

from toolglot.formats import Calls, ElementCall, Frame, Reasoning, WireFormat, WireFormatParser

QWEN3_XML = WireFormat(
    calls=(
        Calls(
            ElementCall("~{name}~>\n", "<parameter=~{key}~>\n{value}\n</parameter>\n"),
            call=Frame(("<tool_call>\n<function=", "<function="), ("</function>\n</tool_call>", "</function>")),
            separator="\n",
        ),
    ),
    reasoning=Reasoning(call_ends=True),
)

qwen3_xml = WireFormatParser(QWEN3_XML)
