"""Ling 3 (``ling3``): the name on a line, then an element for each key and value.

Checked against the chat template of Ling 3 Flash.
Compared: one call, parallel calls, text, reasoning, no arguments, hard arguments, answers.
"""

from toolglot.formats import Calls, ElementCall, Frame, Reasoning, WireFormat, WireFormatParser

LING3 = WireFormat(
    calls=(
        Calls(
            ElementCall("{name}\n", "<arg_key>~{key}~</arg_key>\n<arg_value>{value}</arg_value>~"),
            call=Frame(("<tool_call>",), ("\n</tool_call>",)),
            separator="\n",
        ),
    ),
    reasoning=Reasoning(Frame(("<think>",), ("</think>",)), call_ends=True),
)

plugin = WireFormatParser(LING3, architectures=("BailingMoeV3ForCausalLM",))
