"""Step-3 (``step3``), Step-3.5, 3.7 and Step-5 (``step3p5``, ``step5``): an element for each argument.

``step3p5`` was checked against the chat template of Step-3.5-Flash, which writes booleans and null as Python does.
Compared: one call, parallel calls, text, reasoning, no arguments, hard arguments, answers.
``step3`` was checked against the readers of vLLM and SGLang only: no template or tokenizer of that model was at hand.
"""

from toolglot.formats import Calls, ElementCall, Frame, Reasoning, WireFormat, WireFormatParser

REASONING = Reasoning(Frame(("<think>\n",), ("\n</think>\n",)), call_ends=True)

STEP3 = WireFormat(
    calls=(
        Calls(
            ElementCall("{name:attr}>~", "<steptml:parameter name={key:attr}>{value}</steptml:parameter>~"),
            call=Frame(
                ("<｜tool_call_begin｜>~function<｜tool_sep｜><steptml:invoke name=",),
                ("</steptml:invoke>~<｜tool_call_end｜>",),
            ),
            section=Frame(("<｜tool_calls_begin｜>",), ("<｜tool_calls_end｜>",)),
            separator="\n",
        ),
    ),
    reasoning=REASONING,
)
STEP3P5 = WireFormat(
    calls=(
        Calls(
            ElementCall("~{name}~>\n", "<parameter=~{key}~>\n{value}\n</parameter>\n"),
            call=Frame(("<tool_call>\n<function=", "<function="), ("</function>\n</tool_call>", "</function>")),
        ),
    ),
    reasoning=REASONING,
)

step3 = WireFormatParser(STEP3)
step3p5 = WireFormatParser(STEP3P5, architectures=("Step3p5ForCausalLM", "Step3p7ForConditionalGeneration"))
