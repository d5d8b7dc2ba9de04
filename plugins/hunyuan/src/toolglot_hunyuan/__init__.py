"""Tencent Hunyuan-A13B (``hunyuan_a13b``), Hy3 (``hy_v3``) and Hy4 (``hy_v4``).

Hy3's and Hy4's markers have a suffix that differs by checkpoint (``<tool_calls:opensource>``), read off the vocabulary.
Checked against vLLM's chat template for A13B and Hy3's own; of Hy4 only its reasoning tags, in Tencent's training code.
"""

import re
from functools import partial

from toolglot import added_tokens
from toolglot.formats import Calls, ElementCall, Frame, JsonCall, Reasoning, WireFormat, WireFormatParser

A13B = WireFormat(
    calls=(Calls(JsonCall(), section=Frame(("<tool_calls>~[",), ("]~</tool_calls>",)), separator=", "),),
    reasoning=Reasoning(Frame(("<think>\n",), ("\n</think>\n",))),
    content=Frame(("<answer>\n", "助手："), ("\n</answer>", "")),
)
_OPENER = re.compile(r"<tool_calls(:[^\s>]+)?>")


def hy(tokenizer: object, *, known: tuple[str, ...], head: str, line: str) -> WireFormat:
    """The format with the suffix of the vocabulary; where there is none, with those that are known."""
    found = [match[1] or "" for match in map(_OPENER.fullmatch, added_tokens(tokenizer)) if match]
    suffixes = tuple(found) or known
    think = Frame(tuple(f"<think{one}>" for one in suffixes), tuple(f"</think{one}>" for one in suffixes))
    return WireFormat(tuple(_calls(one, head, line) for one in suffixes), Reasoning(think, call_ends=True))


def _calls(suffix: str, head: str, line: str) -> Calls:
    argument = f"<arg_key{suffix}>{{key}}</arg_key{suffix}>{line}<arg_value{suffix}>{{value}}</arg_value{suffix}>{line}"
    return Calls(
        body=ElementCall(head.replace(">", f"{suffix}>"), argument),
        call=Frame((f"<tool_call{suffix}>",), (f"</tool_call{suffix}>{line}",)),
        section=Frame((f"<tool_calls{suffix}>{line}",), (f"</tool_calls{suffix}>",)),
    )


hunyuan_a13b = WireFormatParser(A13B)
hy_v3 = WireFormatParser(partial(hy, known=(":opensource", ""), head="{name}~<tool_sep>\n", line="\n"))
hy_v4 = WireFormatParser(partial(hy, known=("", ":opensource"), head="{name}~", line="~"))
