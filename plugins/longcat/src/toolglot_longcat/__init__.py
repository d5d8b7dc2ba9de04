"""Meituan LongCat-Flash (``longcat``): JSON in ``<longcat_tool_call>`` tags, or elements in them.

No chat template was at hand: JSON is what the model card asks for, elements are what hosted models are reported to
write. The elements were checked against Meituan's own reader of them (in SGLang-FluentLLM).
"""

from toolglot.formats import Calls, ElementCall, Frame, JsonCall, Reasoning, WireFormat, WireFormatParser

FRAME = Frame(open=("<longcat_tool_call>\n",), close=("\n</longcat_tool_call>",))
ARGUMENT = "<longcat_arg_key>{key}</longcat_arg_key>\n<longcat_arg_value>{value}</longcat_arg_value>\n"

LONGCAT = WireFormat(
    calls=(
        Calls(body=JsonCall(), call=FRAME, separator="\n"),
        Calls(body=ElementCall("{name}\n", ARGUMENT), call=FRAME, separator="\n"),
    ),
    reasoning=Reasoning(Frame(open=("<longcat_think>\n",), close=("\n</longcat_think>\n",)), call_ends=True),
)

plugin = WireFormatParser(LONGCAT)
