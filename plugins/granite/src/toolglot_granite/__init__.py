"""IBM Granite 3 (``granite``), Granite 4 (``granite4``) and Granite 20B function calling (``granite-20b-fc``).

Granite 3.0 marks a JSON list with a token, 3.1 with text. Checked against the chat templates of Granite 4.0 and 4.1,
and vLLM's for 3 and 20B; Granite 3.2's and 3.3's reasoning only against what their templates ask for.
"""

from toolglot.formats import Calls, Frame, JsonCall, Reasoning, WireFormat, WireFormatParser

THOUGHTS = Frame(
    open=("<think>", "Here is my thought process:\n\n", "Here's my thought process:\n\n"),
    close=("</think>\n", "\n\nHere is my response:\n\n", "\n\nHere's my response:\n\n"),
)

GRANITE = WireFormat(
    calls=(
        Calls(
            body=JsonCall(),
            section=Frame(open=("<|tool_call|>~[", "<tool_call>~["), close=("]",)),
            separator=", ",
        ),
    ),
    reasoning=Reasoning(THOUGHTS, call_ends=True),
    content=Frame(open=("<response>",), close=("</response>",)),
)
GRANITE4 = WireFormat(
    calls=(Calls(body=JsonCall(), call=Frame(open=("<tool_call>\n",), close=("\n</tool_call>",)), separator="\n"),),
)
GRANITE_20B_FC = WireFormat(
    calls=(Calls(body=JsonCall(), call=Frame(open=("<function_call> ",)), separator="\n"),),
)

granite = WireFormatParser(GRANITE)
granite4 = WireFormatParser(GRANITE4, architectures=("GraniteMoeHybridForCausalLM",))
granite_20b_fc = WireFormatParser(GRANITE_20B_FC)
