"""Poolside's Laguna (``poolside_v1``): the name, then an element for each key and value, as GLM writes calls.

Checked against the chat templates of Laguna XS.2 and XS 2.1, which put every tag on a line, and of Laguna S 2.1, which
writes no whitespace. ``</assistant>`` ends a turn.
Compared: one call, parallel calls, text, reasoning, no arguments, hard arguments, answers.
"""

from toolglot.formats import Calls, ElementCall, Frame, Reasoning, WireFormat, WireFormatParser

LAGUNA = WireFormat(
    calls=(
        Calls(
            ElementCall("{name}\n", "<arg_key>~{key}~</arg_key>\n<arg_value>{value}</arg_value>\n"),
            call=Frame(("<tool_call>",), ("</tool_call>",)),
            separator="\n",
        ),
    ),
    reasoning=Reasoning(Frame(("<think>\n",), ("\n</think>\n",)), call_ends=True),
)

plugin = WireFormatParser(LAGUNA, architectures=("LagunaForCausalLM",))
