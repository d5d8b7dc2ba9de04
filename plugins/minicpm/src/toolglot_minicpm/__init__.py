"""MiniCPM5 (``minicpm5``): an element for each argument; strings with markup or several lines stand in CDATA.

Checked against the chat template of MiniCPM5-1B, which writes all that is no string in Python's spelling.
Compared: one call, parallel calls, text, reasoning, no arguments, hard arguments, answers.
"""

from toolglot.formats import BySchema, Calls, ElementCall, Frame, Reasoning, WireFormat, WireFormatParser

MINICPM5 = WireFormat(
    calls=(
        Calls(
            ElementCall(
                "{name:attr}>~",
                "<param name={key:attr}>{value}</param>~",
                BySchema(cdata=("<![CDATA[", "]]>")),
            ),
            call=Frame(("<function name=",), ("</function>",)),
            separator="\n",
        ),
    ),
    reasoning=Reasoning(call_ends=True),
)

plugin = WireFormatParser(MINICPM5)
