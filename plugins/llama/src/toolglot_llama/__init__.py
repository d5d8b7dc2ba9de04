"""Llama 3.1, 3.2, 3.3 and 4 (``llama3_json``, ``llama4_json``): a bare JSON object, or several in a row."""

from toolglot.formats import Calls, Frame, JsonCall, WireFormat, WireFormatParser

BODY = JsonCall(arguments=("parameters", "arguments"))

LLAMA_JSON = WireFormat(
    calls=(
        Calls(BODY, section=Frame(("",)), separator="; "),
        Calls(BODY, section=Frame(("<|python_tag|>",)), separator="; "),
    ),
    trailer=("<|eom_id|>", "<|eot_id|>", "<|eot|>"),
)

llama_json = WireFormatParser(LLAMA_JSON)
