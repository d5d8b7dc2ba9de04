"""Qwen2.5-Coder (``qwen25_coder``): Hermes' tags, or a reply that is a JSON object, bare or in a code fence.

Its chat template asks for ``<tool_call>`` tags, but the model often answers with the object alone, or in a fence; or in
``<tools>`` tags, where the prompt shows it examples of that. Checked against the chat template of Qwen2.5.
"""

from toolglot.formats import Calls, Frame, JsonCall, WireFormat, WireFormatParser

OBJECT = JsonCall(arguments=("arguments", "parameters"))

QWEN25_CODER = WireFormat(
    calls=(
        Calls(OBJECT, call=Frame(("<tool_call>\n",), ("\n</tool_call>",)), separator="\n"),
        Calls(OBJECT, call=Frame(("<tools>\n",), ("\n</tools>",)), separator="\n"),
        Calls(OBJECT, section=Frame(("```json\n", "```\n"), ("\n```",)), separator="\n"),
        Calls(OBJECT, section=Frame(), separator="\n"),
    ),
    begins="start",
)

qwen25_coder = WireFormatParser(QWEN25_CODER)
