"""Xiaomi MiMo V2 (``mimo``): elements in ``<tool_call>`` tags, all on one line.

Checked against what vLLM recorded of MiMo V2.6's chat template and tokens; the template itself was not at hand.
"""

from toolglot.formats import Calls, ElementCall, Frame, Reasoning, WireFormat, WireFormatParser

MIMO = WireFormat(
    calls=(
        Calls(
            body=ElementCall("~{name}~>", "<parameter=~{key}~>{value}</parameter>"),
            call=Frame(
                open=("<tool_call>~<function=", "<function="), close=("</function>~</tool_call>", "</function>")
            ),
        ),
    ),
    reasoning=Reasoning(Frame(open=("<think>",), close=("</think>",)), call_ends=True),
)

plugin = WireFormatParser(MIMO, architectures=("MiMoV2FlashForCausalLM", "MiMoV2ForCausalLM"))
