"""Gemma 4 (``gemma4``) and FunctionGemma 270M (``functiongemma``): calls as maps whose strings stand between markers.

``gemma4`` was checked against the chat templates of Gemma 4 31B, both versions, which write text after the calls.
Compared: one call, parallel calls, text, reasoning, no arguments, hard arguments, answers.
``functiongemma`` was checked against vLLM's template (the same, but it drops text beside calls), which puts every value
between ``<escape>``; the model itself is reported to do so with strings only, and both are read.
"""

from toolglot.formats import Calls, Frame, HeadedCall, Map, Reasoning, WireFormat, WireFormatParser

FUNCTIONGEMMA = WireFormat(
    calls=(
        Calls(
            body=HeadedCall(("call:{name}",), Map("<escape>", quoted="all")),
            call=Frame(("<start_function_call>",), ("<end_function_call>",)),
        ),
    ),
)
GEMMA4 = WireFormat(
    calls=(
        Calls(
            body=HeadedCall(("call:{name}", ":{name}"), Map('<|"|>')),
            call=Frame(("<|tool_call>",), ("<tool_call|>",)),
        ),
    ),
    reasoning=Reasoning(Frame(("<|channel>thought\n",), ("<channel|>",))),
)

functiongemma = WireFormatParser(FUNCTIONGEMMA)
gemma4 = WireFormatParser(GEMMA4)
