"""AI21 Jamba 1.5 (``jamba``): a JSON list in ``<tool_calls>`` tags, one object a line.

Checked against the chat template of Jamba Mini 1.7.
Compared: one call, parallel calls, text, no arguments, hard arguments, an answer.
"""

from toolglot.formats import Calls, Frame, JsonCall, WireFormat, WireFormatParser

JAMBA = WireFormat(
    calls=(
        Calls(
            body=JsonCall(),
            section=Frame(open=("<tool_calls>~[\n    ",), close=("\n]~</tool_calls>",)),
            separator=",\n    ",
        ),
    ),
)

plugin = WireFormatParser(JAMBA)
