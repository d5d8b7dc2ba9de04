"""LFM2 and LFM2.5 (``lfm2``): a list of Python calls between marker tokens.

Checked against the chat templates of LFM2.5-8B-A1B and of LFM2 and LFM2.5 in trl; the first does not escape strings.
Compared: one call, parallel calls, text, reasoning, no arguments, hard arguments, answers.
"""

from toolglot.formats import Calls, Frame, PythonCall, Reasoning, WireFormat, WireFormatParser

LFM2 = WireFormat(
    calls=(
        Calls(
            body=PythonCall(),
            section=Frame(("<|tool_call_start|>~[",), ("]~<|tool_call_end|>", ",~]~<|tool_call_end|>")),
            separator=", ",
        ),
    ),
    reasoning=Reasoning(Frame(("<think>",), ("</think>",)), call_ends=True),
)

plugin = WireFormatParser(LFM2, architectures=("Lfm2ForCausalLM", "Lfm2MoeForCausalLM"))
