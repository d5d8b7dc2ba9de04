"""Inkling (``inkling``): a turn is several messages; the marker behind a message's header says what it holds.

The header of a call is its name, which its JSON says once more; the prompt has opened the first message.
Checked against what vLLM's encoder of this model writes, which sorts keys.
Compared: one call, parallel calls, text, reasoning, no arguments, hard arguments, answers.
"""

from toolglot.formats import Calls, Frame, HeadedCall, JsonCall, Reasoning, WireFormat, WireFormatParser

INKLING = WireFormat(
    calls=(
        Calls(
            HeadedCall(
                ("{name}<|content_invoke_tool_json|>",),
                JsonCall(arguments=("args", "arguments", "parameters"), space=""),
            ),
            call=Frame(close=("<|end_message|>",)),
        ),
    ),
    reasoning=Reasoning(Frame(("<|content_thinking|>",), ("<|end_message|>",)), again=True),
    content=Frame(("<|content_text|>",), ("<|end_message|>",)),
    between="<|message_model|>",
    trailer=("<|content_model_end_sampling|>",),
)

plugin = WireFormatParser(INKLING)
