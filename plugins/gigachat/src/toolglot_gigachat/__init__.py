"""Sber GigaChat 3 and 3.1 (``gigachat3``): one JSON object, as a message of its own or behind a marker token.

Checked against the chat templates of GigaChat3 and GigaChat3.1 10B.
"""

from toolglot import added_tokens
from toolglot.formats import Calls, Frame, JsonCall, WireFormat, WireFormatParser

V3, V31 = "<|message_sep|>\n\nfunction call<|role_sep|>\n", "<|function_call|>"


def gigachat3(tokenizer: object) -> WireFormat:
    """The generation that the vocabulary knows is the one written; both are read."""
    names = added_tokens(tokenizer)
    written = (V3, V31) if names and V31 not in names else (V31, V3)
    openers = (*written, "function call<|role_sep|>\n")
    return WireFormat(
        calls=(Calls(body=JsonCall(), call=Frame(open=openers), single=True),),
        trailer=("<|message_sep|>", "</s>"),
    )


plugin = WireFormatParser(gigachat3)
