"""Microsoft Phi-4-mini (``phi4_mini_json``): a JSON list behind ``functools``, or between marker tokens.

The model is reported, by its reader in the Berkeley leaderboard, to leave out the last marker or the brackets.

Checked against what vLLM's and Ollama's chat templates ask for, and the model's own, which puts the tools between
``<|tool|>`` and ``<|/tool|>``; none of them renders calls so that they could be compared.
"""

from toolglot.formats import Calls, Frame, JsonCall, WireFormat, WireFormatParser

FRAMES = (
    Frame(("functools[",), ("]",)),
    Frame(("<|tool_call|>~[",), ("]~<|/tool_call|>", "]")),  # the model often leaves the last marker out
    Frame(("<|tool_call|>",), ("<|/tool_call|>",)),
)

PHI4_MINI = WireFormat(
    calls=tuple(
        Calls(
            body=JsonCall(arguments=("arguments", "parameters")),
            section=frame,
            separator=", ",
        )
        for frame in FRAMES
    ),
)

plugin = WireFormatParser(PHI4_MINI)
