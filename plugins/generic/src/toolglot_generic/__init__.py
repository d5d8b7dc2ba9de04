"""Any model without a format of its own for tool calls (``generic``).

It works by three things. The prompt (``prompt``): the tools and the format are told before what the user said last
(there a model of 135M parameters follows them; in the system text it does not, and some chat templates have none), and
earlier calls and results become ordinary messages, so that every chat template can render them. The format: a call is a
JSON object on a line of its own. And a grammar, also where nothing is strict: the reply is either calls that validate,
or an answer, which does not begin as calls do. So the model decides with its first token, and whatever it decides is
whole. Calls in a fence, in a list or in ``<tool_call>`` tags, as models write them out of habit, are read too where the
engine cannot constrain.

More than a declaration, since a declaration says nothing of prompts. There is no model of its own to check it against.
"""

from __future__ import annotations

from msgspec.structs import replace

from toolglot import Request, StructuralTag, hookimpl
from toolglot.formats import Calls, Frame, JsonCall, Reasoning, WireFormat, WireFormatParser
from toolglot.structural_tag import AnyText, Optional, Or, Regex, Sequence
from toolglot_generic.prompt import with_tools

CALL = JsonCall(arguments=("arguments", "parameters"))
GENERIC = WireFormat(
    calls=(
        Calls(CALL, section=Frame(("",)), separator="\n"),
        Calls(CALL, section=Frame(("```json\n",), ("\n```",)), separator="\n"),
        Calls(CALL, section=Frame(("[",), ("]",)), separator=", "),
        Calls(CALL, call=Frame(("<tool_call>\n",), ("\n</tool_call>",)), separator="\n"),
    ),
    reasoning=Reasoning(),
    strict_level="parameter",
)
_ANY = {"type": "object"}
_FIRST = Regex(r"[ \n]{0,2}[^ \n\t\r{\[`<]")
"""How an answer begins: as neither calls nor the habits in writing them do."""


class Generic(WireFormatParser):
    """Reads, constrains and renders the format, and asks for it in the prompt."""

    @hookimpl
    def adjust_request(self, request: Request) -> Request | None:
        return replace(request, messages=with_tools(request, self.render), prompt_tools=())

    @hookimpl
    def get_structural_tag(self, request: Request) -> StructuralTag | None:
        if not request.calls_allowed or request.tool_choice != "auto" or request.content_schema is not None:
            return super().get_structural_tag(request)
        tools = (replace(tool, parameters=_ANY) if tool.strict is False else tool for tool in request.tools)
        required = super().get_structural_tag(replace(request, tools=tuple(tools), tool_choice="required"))
        assert required is not None
        assert isinstance(required.format, Sequence)
        *reasoning, calls, end = required.format.elements
        answer = Optional(Sequence((_FIRST, AnyText((f'{{"{CALL.name}": "',)))))
        return StructuralTag(Sequence((*reasoning, Or((Sequence((calls, end)), answer)))))


plugin = Generic(GENERIC)
