"""Microsoft Phi-4-mini (``phi4_mini_json``): a JSON list behind ``functools``, or between marker tokens.

Checked against what vLLM's and Ollama's chat templates ask for; neither renders calls so that they could be compared.
"""

from toolglot.formats import Calls, Frame, JsonCall, WireFormat, WireFormatParser

FRAMES = (("functools[", "]"), ("<|tool_call|>~[", "]~<|/tool_call|>"))

PHI4_MINI = WireFormat(
    calls=tuple(
        Calls(
            body=JsonCall(arguments=("arguments", "parameters")),
            section=Frame(open=(before,), close=(after,)),
            separator=", ",
        )
        for before, after in FRAMES
    ),
)

plugin = WireFormatParser(PHI4_MINI)
