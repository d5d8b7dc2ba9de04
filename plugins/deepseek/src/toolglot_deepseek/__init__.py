"""DeepSeek V3, R1, V3.1, V3.2 and V4 (``deepseek_v3``, ``_v31``, ``_v32``, ``_v4``, ``_v41``).

V3 and V3.1 write JSON between marker tokens, and both names read both; from V3.2 on each argument is an element.
Checked against the chat templates of V3.1, V3.2, V4, V4 Flash, vLLM's for R1, and the encoders of V3.2 and V4.1.
"""

from toolglot.formats import ByFlag, Calls, ElementCall, Frame, HeadedCall, Reasoning, WireFormat, WireFormatParser

REASONING = Reasoning(Frame(open=("<think>",), close=("</think>",)), call_ends=True)
V3 = ("function<｜tool▁sep｜>{name}\n```json\n", "\n```<｜tool▁call▁end｜>")
V31 = ("{name}<｜tool▁sep｜>", "<｜tool▁call▁end｜>")


def json_format(heads: tuple[str, ...], closers: tuple[str, ...], separator: str) -> WireFormat:
    calls = Calls(
        body=HeadedCall(heads),
        call=Frame(open=("<｜tool▁call▁begin｜>",), close=closers),
        section=Frame(open=("<｜tool▁calls▁begin｜>",), close=("<｜tool▁calls▁end｜>",)),
        separator=separator,
    )
    return WireFormat((calls,), REASONING)


def dsml(bar: str, *sections: str) -> WireFormat:
    argument = f"<{bar}parameter name={{key:attr}} string={{text:attr}}>{{value}}</{bar}parameter>\n"
    body = ElementCall("{name:attr}>\n", argument, ByFlag())
    call = Frame(open=(f"<{bar}invoke name=",), close=(f"</{bar}invoke>\n",))
    opens = tuple(f"\n\n<{bar}{name}>\n" for name in sections)
    closes = tuple(f"</{bar}{name}>" for name in sections)
    return WireFormat((Calls(body, call, Frame(opens, closes, optional=True)),), REASONING)


deepseek_v3 = WireFormatParser(json_format((V3[0], V31[0]), (V3[1], V31[1]), "\n"))
deepseek_v31 = WireFormatParser(json_format((V31[0], V3[0]), (V31[1], V3[1]), ""))
deepseek_v32 = WireFormatParser(dsml("｜DSML｜", "function_calls"))
deepseek_v4 = WireFormatParser(dsml("｜DSML｜", "tool_calls", "toolcalls", "tool"))
deepseek_v41 = WireFormatParser(dsml("｜DSML｜ ", "calls"))
