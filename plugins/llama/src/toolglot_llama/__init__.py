"""Llama 3.1, 3.2, 3.3 and 4 (``llama3_json``, ``llama4_json``, ``llama4_pythonic``).

The JSON parsers read bare objects, joined by ``; `` or back to back, with or without ``<|python_tag|>`` before them;
checked against the chat templates of Llama 3.1, 3.2 and 3.3, and vLLM's for Llama 4. ``llama4_pythonic`` reads a list
of Python calls; the template known for it puts every value in double quotes, so types come from the tool's schema.
"""

from toolglot.formats import Calls, Frame, JsonCall, PythonCall, WireFormat, WireFormatParser

TURN_ENDS = ("<|eom_id|>", "<|eot_id|>", "<|eot|>")
OBJECT = JsonCall(arguments=("parameters", "arguments"))

LLAMA_JSON = WireFormat(
    calls=tuple(Calls(OBJECT, section=Frame((tag,)), separator="; ") for tag in ("", "<|python_tag|>")),
    trailer=TURN_ENDS,
)
LLAMA4_PYTHONIC = WireFormat(
    calls=tuple(
        Calls(PythonCall(), section=Frame((before + "[",), ("]" + after, ",~]" + after)), separator=", ")
        for before, after in (("", ""), ("<|python_start|>", "<|python_end|>"))
    ),
    trailer=TURN_ENDS,
)

llama_json = WireFormatParser(
    LLAMA_JSON,
    architectures=("MllamaForConditionalGeneration", "Llama4ForConditionalGeneration"),
)
llama4_pythonic = WireFormatParser(LLAMA4_PYTHONIC, architectures=("Llama4ForConditionalGeneration",))
