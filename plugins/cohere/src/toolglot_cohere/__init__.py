"""Command R7B, Command A and A Reasoning (``cohere_command3``), Command A Plus and the MoE (``cohere_command4``).

A list of JSON objects, thinking, and markers around plain answers; citations in an answer stay in its text.
Checked against the chat templates of Command R7B and Cohere2 MoE, and cohere_melody (its renderers and its reader).
Compared: one call, parallel calls, reasoning, no arguments, hard arguments, answers. They drop text beside calls.
"""

from toolglot.formats import Calls, Frame, JsonCall, OwnIds, Reasoning, WireFormat, WireFormatParser

ACTION = Calls(
    body=JsonCall(name="tool_name", arguments=("parameters",), index="tool_call_id"),
    section=Frame(("<|START_ACTION|>[\n    ",), ("\n]<|END_ACTION|>",)),
    separator=",\n    ",
)
THINKING = Reasoning(Frame(("<|START_THINKING|>",), ("<|END_THINKING|>",)))
RESPONSE = Frame(("<|START_RESPONSE|>", "<|START_TEXT|>"), ("<|END_RESPONSE|>", "<|END_TEXT|>"))
TEXT = Frame(RESPONSE.open[::-1], RESPONSE.close[::-1])

command3 = WireFormatParser(
    WireFormat((ACTION,), THINKING, content=RESPONSE, ids=OwnIds()),
    architectures=("CohereForCausalLM", "Cohere2ForCausalLM"),
)
command4 = WireFormatParser(
    WireFormat((ACTION,), THINKING, content=TEXT, ids=OwnIds()), architectures=("Cohere2MoeForCausalLM",)
)
