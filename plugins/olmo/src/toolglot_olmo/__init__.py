"""OLMo 3 (``olmo3``): Python calls with JSON's literals, one a line, in ``<function_calls>``.

Checked against vLLM's template for OLMo 3, which does not escape strings and drops text beside calls.
Compared: one call, parallel calls, no arguments, hard arguments, answers.
"""

from toolglot.formats import Calls, Frame, PythonCall, Reasoning, WireFormat, WireFormatParser

OLMO3 = WireFormat(
    calls=(
        Calls(
            body=PythonCall("json"),
            section=Frame(("<function_calls>\n",), ("\n</function_calls>",)),
            separator="\n",
        ),
    ),
    reasoning=Reasoning(),
)

plugin = WireFormatParser(OLMO3, architectures=("Olmo3ForCausalLM",))
