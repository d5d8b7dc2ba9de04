"""Mistral (``mistral``, or by hand ``mistral_v11``, ``mistral_v3``): from tokenizer v11 on
``[TOOL_CALLS]name[ARGS]{…}``, before a JSON list.

Checked against the chat templates of Mistral Small 3.2, Ministral 3, Devstral and Nemo, and mistral-common v3 to v13.
A tokenizer is transformers' or mistral-common's (``--tokenizer-mode``).
"""

from toolglot import added_tokens
from toolglot.formats import (
    AlphanumericIds,
    Calls,
    Frame,
    HeadedCall,
    JsonCall,
    Reasoning,
    WireFormat,
    WireFormatParser,
)

NAMED = Calls(
    HeadedCall(("{name}[ARGS]", "{name}[CALL_ID]{id}[ARGS]", "{name}")),
    call=Frame(("[TOOL_CALLS]",)),
)
LIST = Calls(JsonCall(id="id"), section=Frame(("[TOOL_CALLS]~[",), ("]",)), separator=", ")
REASONING = Reasoning(Frame(("[THINK]", "<think>\n"), ("[/THINK]", "\n</think>\n\n")))
V3, V11 = (WireFormat(calls, REASONING, ids=AlphanumericIds(9)) for calls in ((LIST, NAMED), (NAMED, LIST)))


def mistral(tokenizer: object) -> WireFormat:
    """The generation that the vocabulary knows is the one written; both are read."""
    names = added_tokens(tokenizer)
    return V3 if names and "[ARGS]" not in names else V11


plugin = WireFormatParser(mistral)
plugin_v3, plugin_v11 = WireFormatParser(V3), WireFormatParser(V11)
