"""Baidu ERNIE 4.5 Thinking (``ernie45``): JSON in ``<tool_call>`` tags, plain answers in ``<response>`` tags.

Checked against Baidu's own reader of these replies (``ernie-x1`` of FastDeploy); no chat template was at hand.
"""

from toolglot.formats import Calls, Frame, JsonCall, Reasoning, WireFormat, WireFormatParser

ERNIE45 = WireFormat(
    calls=(Calls(body=JsonCall(), call=Frame(open=("<tool_call>\n",), close=("\n</tool_call>\n",))),),
    reasoning=Reasoning(Frame(open=("<think>\n",), close=("\n</think>\n\n",)), call_ends=True),
    content=Frame(open=("<response>\n",), close=("\n</response>\n",)),
)

plugin = WireFormatParser(ERNIE45, architectures=("Ernie4_5ForCausalLM", "Ernie4_5_MoeForCausalLM"))
