"""Swiss AI Apertus (``apertus``): a list of objects, each with a tool's name as its only key.

Checked against the chat template of Apertus-8B-Instruct.
"""

from toolglot.formats import Calls, Frame, HeadedCall, Reasoning, WireFormat, WireFormatParser

APERTUS = WireFormat(
    calls=(
        Calls(
            body=HeadedCall(('"{name}"~: ',)),
            call=Frame(open=("{",), close=("}",)),
            section=Frame(open=("<|tools_prefix|>~[",), close=("]~<|tools_suffix|>", "]")),
            separator=", ",
        ),
    ),
    reasoning=Reasoning(Frame(open=("<|inner_prefix|>",), close=("<|inner_suffix|>",)), call_ends=True),
)

plugin = WireFormatParser(APERTUS)
