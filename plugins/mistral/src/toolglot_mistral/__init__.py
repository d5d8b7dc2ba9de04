"""Mistral (``mistral``)."""

from toolglot.formats import AlphanumericIds, Calls, Frame, HeadedCall, JsonCall, Reasoning, WireFormat, WireFormatParser
from toolglot.vocabulary import added_tokens

NAMED = Calls(
    HeadedCall(("{name}[ARGS]", "{name}[CALL_ID]{id}[ARGS]", "{name}")), call=Frame(("[TOOL_CALLS]",)), separator=""
)
LIST = Calls(JsonCall(id="id"), section=Frame(("[TOOL_CALLS]~[",), ("]",)), separator=", ")
OBJECT = Calls(JsonCall(id="id"), call=Frame(("[TOOL_CALLS]~",)))
REASONING = Reasoning(Frame(("[THINK]", "<think>\n"), ("[/THINK]", "\n</think>\n\n")))


def mistral(tokenizer: object) -> WireFormat:
    """The generation of the format that the vocabulary knows: with ``[ARGS]`` from v11 on, a JSON list before."""
    names = added_tokens(tokenizer)
    calls = (LIST, NAMED) if names and "[ARGS]" not in names else (NAMED, LIST)
    return WireFormat(calls, REASONING, ids=AlphanumericIds(9))


plugin = WireFormatParser(mistral)
