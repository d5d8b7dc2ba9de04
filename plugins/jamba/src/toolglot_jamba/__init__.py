"""AI21 Jamba 1.5 (``jamba``): a JSON list in ``<tool_calls>`` tags, one object a line.

Checked against no chat template: none that writes calls was at hand.
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
