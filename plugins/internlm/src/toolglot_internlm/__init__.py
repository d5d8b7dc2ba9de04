"""Shanghai AI Laboratory's InternLM 2.5 (``internlm``): a JSON object between marker tokens.

Checked against vLLM's chat template, which writes ``arguments`` and several calls; the model's own documentation asks
for ``parameters``.
"""

from toolglot.formats import Calls, Frame, JsonCall, WireFormat, WireFormatParser

INTERNLM = WireFormat(
    calls=(
        Calls(
            body=JsonCall(arguments=("parameters", "arguments")),
            call=Frame(open=("<|action_start|>~<|plugin|>\n",), close=("<|action_end|>",)),
        ),
    ),
)

plugin = WireFormatParser(INTERNLM)
