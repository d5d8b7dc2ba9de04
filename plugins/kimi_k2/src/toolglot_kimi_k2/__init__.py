"""Kimi K2, K2-Thinking, K2.5 and K2.6 (``kimi_k2``): calls between marker tokens, ids that count over the conversation.

Checked against the chat templates of Kimi-K2-Instruct, K2-Thinking and K2.5; all five call markers are tokens of K2.5.
"""

from toolglot.formats import Calls, Frame, HeadedCall, Reasoning, TemplateIds, WireFormat, WireFormatParser

ARGUMENTS = "~<|tool_call_argument_begin|>"
IDS = ("functions.{name}:{index}", "{name}:{index}", "functions.{name}", "{name}")

KIMI_K2 = WireFormat(
    calls=(
        Calls(
            body=HeadedCall(tuple(written + ARGUMENTS for written in IDS)),
            call=Frame(("<|tool_call_begin|>~",), ("<|tool_call_end|>",)),
            section=Frame(("<|tool_calls_section_begin|>",), ("<|tool_calls_section_end|>",), optional=True),
        ),
    ),
    reasoning=Reasoning(Frame(("<think>",), ("</think>",))),
    ids=TemplateIds(IDS[0]),
    strict_level="parameter",
)

plugin = WireFormatParser(KIMI_K2)
