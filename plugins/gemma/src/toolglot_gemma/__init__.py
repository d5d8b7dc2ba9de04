"""Gemma 4 (``gemma4``) and FunctionGemma 270M (``functiongemma``): calls as maps whose strings stand between markers.

``gemma4`` was checked against the chat templates of Gemma 4 31B, both versions; ``functiongemma`` against vLLM's
template, which puts every value between ``<escape>``. The model itself is reported to do so with strings only.
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
