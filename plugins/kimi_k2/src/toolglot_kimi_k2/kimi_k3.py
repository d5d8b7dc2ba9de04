"""Kimi K3 (``kimi_k3``): channels and calls as elements between marker tokens; an attribute says a value's type.

Checked against the chat template of Kimi-K3; ``<|open|>``, ``<|close|>`` and ``<|sep|>`` are tokens of it.
Compared: one call, parallel calls, text, reasoning, no arguments, hard arguments, answers.
"""

from toolglot.formats import ByType, Calls, ElementCall, Frame, Reasoning, TemplateIds, WireFormat, WireFormatParser


def element(name: str) -> Frame:
    """A channel."""
    return Frame((f"<|open|>{name}<|sep|>",), (f"<|close|>{name}<|sep|>",))


KIMI_K3 = WireFormat(
    calls=(
        Calls(
            ElementCall(
                "{name:attr} index={number:attr}<|sep|>",
                "<|open|>argument key={key:xml} type={type:attr}<|sep|>{value}<|close|>argument<|sep|>",
                ByType(),
            ),
            call=Frame(("<|open|>call tool=",), ("<|close|>call<|sep|>",)),
            section=element("tools"),
        ),
    ),
    reasoning=Reasoning(element("think")),
    content=element("response"),
    ids=TemplateIds("functions.{name}:{index}"),
    trailer=("<|close|>message<|sep|>",),
    strict_level="parameter",
)

plugin = WireFormatParser(KIMI_K3)
