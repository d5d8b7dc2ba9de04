"""MiniMax M2, M2.1 and M2.5 (``minimax_m2``): an element for each argument. M3 (``minimax_m3``): elements in elements.

Checked against the chat templates of MiniMax-M2 and M3; the wrappers of M2.5 are tokens.
Compared: one call, parallel calls, text, reasoning, no arguments, hard arguments, answers.
M3 leaves out null arguments, and writes an object without declared members so that their types are lost.
"""

from toolglot.formats import Calls, ElementCall, Frame, Nested, Reasoning, WireFormat, WireFormatParser

PREFIX = "]<]minimax[>["

M2 = WireFormat(
    calls=(
        Calls(
            ElementCall("{name:attr}>\n", "<parameter name={key:attr}>{value}</parameter>\n"),
            call=Frame(("<invoke name=",), ("</invoke>\n",)),
            section=Frame(("\n<minimax:tool_call>\n",), ("</minimax:tool_call>",), optional=True),
        ),
    ),
    reasoning=Reasoning(call_ends=True),
)
M3 = WireFormat(
    calls=(
        Calls(
            ElementCall("{name:attr}>~", f"{PREFIX}<{{key}}>{{value}}{PREFIX}</{{key}}>~", Nested()),
            call=Frame((PREFIX + "<invoke name=",), (PREFIX + "</invoke>\n",)),
            section=Frame((PREFIX + "<tool_call>\n",), (PREFIX + "</tool_call>",), optional=True),
        ),
    ),
    reasoning=Reasoning(Frame(("<mm:think>",), ("</mm:think>",)), call_ends=True),
)

minimax_m2 = WireFormatParser(M2)
minimax_m3 = WireFormatParser(M3)
