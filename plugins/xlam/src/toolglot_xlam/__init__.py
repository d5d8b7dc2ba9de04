"""Salesforce xLAM on Llama and on Qwen (``xlam``): a JSON list, bare or in one of several frames.

Checked against vLLM's chat templates for both, which write the bare list; the frames are what vLLM's parser reads too.
"""

from toolglot.formats import Calls, Frame, JsonCall, Reasoning, WireFormat, WireFormatParser

FRAMES = (("[", "]"), ("<tool_call>~[", "]~</tool_call>"), ("[TOOL_CALLS]~[", "]"), ("```json\n[", "]\n```"))

XLAM = WireFormat(
    calls=tuple(
        Calls(JsonCall(), section=Frame(open=(before,), close=(after,)), separator=", ") for before, after in FRAMES
    ),
    reasoning=Reasoning(),
)

plugin = WireFormatParser(XLAM)
