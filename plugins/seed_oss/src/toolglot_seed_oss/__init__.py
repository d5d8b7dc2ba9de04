"""Seed-OSS (``seed_oss``): an element for each argument, its value as it stands between the tags.

Checked against the chat template of Seed-OSS, which writes all that is no string in Python's spelling.
Compared: one call, parallel calls, text, reasoning, no arguments, hard arguments, answers.
"""

from toolglot.formats import Calls, ElementCall, Frame, Reasoning, WireFormat, WireFormatParser

SEED_OSS = WireFormat(
    calls=(
        Calls(
            ElementCall("~{name}~>\n", "<parameter=~{key}~>~{value}~</parameter>\n"),
            call=Frame(
                ("<seed:tool_call>\n<function=", "<function="), ("</function>\n</seed:tool_call>", "</function>")
            ),
            separator="\n",
        ),
    ),
    reasoning=Reasoning(Frame(("<seed:think>",), ("</seed:think>\n",)), call_ends=True),
)

plugin = WireFormatParser(SEED_OSS)
