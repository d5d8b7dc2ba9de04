"""Nous Hermes 2 Pro and 3, Qwen2.5, QwQ and Qwen3 (``hermes``, ``qwen3_json``): JSON in ``<tool_call>`` tags.

Checked against the chat templates of Hermes 2 Pro, Hermes 3, Qwen2.5, Qwen3, Bielik 11B v3 and Reka Edge.
"""

from toolglot.formats import Calls, Frame, JsonCall, Reasoning, WireFormat, WireFormatParser

HERMES = WireFormat(
    calls=(
        Calls(
            body=JsonCall(arguments=("arguments", "parameters")),
            call=Frame(open=("<tool_call>\n",), close=("\n</tool_call>",)),
            separator="\n",
        ),
    ),
    reasoning=Reasoning(Frame(open=("<think>\n",), close=("\n</think>\n\n",)), call_ends=True),
)

plugin = WireFormatParser(HERMES)
