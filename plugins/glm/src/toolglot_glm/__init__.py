"""GLM-4.5 and 4.6 (``glm45``, ``glm``), GLM-4.7 and 5 (``glm47``): the name, then an element for each key and value.

Checked against the chat templates of GLM-4.6 and GLM-4.7-Flash; all call markers are tokens of GLM-4.7.
Compared: one call, parallel calls, text, reasoning, no arguments, hard arguments, answers.
The stop tokens ``<|observation|>`` and ``<|user|>`` end a turn.
"""

from toolglot.formats import Calls, ElementCall, Frame, Reasoning, WireFormat, WireFormatParser

KEY = "<arg_key>~{key}~</arg_key>"
CALL = Frame(("<tool_call>",), ("</tool_call>",))


def reasoning(after: str) -> Reasoning:
    """The channel of thoughts, with the whitespace that is written behind it."""
    return Reasoning(Frame(("<think>",), ("</think>" + after,)), call_ends=True)


LINES = Calls(ElementCall("{name}\n", KEY + "\n<arg_value>{value}</arg_value>\n"), CALL, separator="\n")
COMPACT = Calls(ElementCall("{name}~", KEY + "~<arg_value>{value}</arg_value>~"), CALL)

glm45 = WireFormatParser(
    WireFormat((LINES,), reasoning("\n"), strict_level="function"), architectures=("Glm4MoeForCausalLM",)
)
glm47 = WireFormatParser(
    WireFormat((COMPACT,), reasoning(""), strict_level="function"),
    architectures=("Glm4MoeForCausalLM", "Glm4MoeLiteForCausalLM", "GlmMoeDsaForCausalLM"),
)
