"""Muse Glimmer and Muse Spark (``muse_glimmer``, ``muse``, ``musespark1x``): messages with a recipient in their header.

A tool as the recipient makes a message a call, the model itself makes it reasoning; the prompt has begun the first.
Checked against the chat template of Muse Glimmer; that of Muse Spark could not be read.
Compared: one call, parallel calls, reasoning, no arguments, hard arguments, an answer. It drops text beside calls.
"""

from toolglot.formats import Calls, ElementCall, Frame, Reasoning, WireFormat, WireFormatParser

MUSE = WireFormat(
    calls=(
        Calls(
            ElementCall(
                " to={recipient}<|message|>~<atem:function_calls>\n<atem:invoke name={name:attr}>\n",
                "<atem:parameter name={key:attr}>{value}</atem:parameter>\n",
            ),
            call=Frame(close=("</atem:invoke>\n</atem:function_calls>",)),
            separator="<|eom|>",
        ),
    ),
    reasoning=Reasoning(Frame((" to=self<|message|>",), ("<|eom|>",)), again=True),
    content=Frame((" to=user<|message|>", " to=commentary<|message|>", "<|message|>"), ("<|eot|>", "<|eom|>")),
    between="<|start|>~assistant",
)

plugin = WireFormatParser(MUSE)
