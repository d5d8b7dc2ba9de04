"""The parser as a library: one parser's hooks, joined with core's defaults."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, get_args

import pluggy

from toolglot import hookspecs, plugins
from toolglot.errors import GrammarError, PluginError, RequestError, UnknownParserError
from toolglot.events import (
    ArgumentsDelta,
    Call,
    CallEnd,
    CallStart,
    ContentDelta,
    Event,
    Finish,
    Message,
    ReasoningDelta,
)
from toolglot.hookspecs import hookimpl
from toolglot.incomplete import WholeCalls, without_truncated
from toolglot.requests import Delta, Output, Request, State, Tool, tool_choice
from toolglot.structural_tag import StructuralTag

_log = logging.getLogger(__name__)
ToolLike = Mapping[str, Any] | Tool


def load_parser(name: str, *, tokenizer: Any = None, reasoning: str | None = None) -> Parser:
    """The parser ``name``, made ready for a tokenizer.

    ``tokenizer`` (transformers' or tokenizers', or a mapping of token texts to ids) binds markers that are tokens of
    it. ``reasoning`` names the parser whose reasoning channel is used; None is the format's own, ``"none"`` leaves
    reasoning in the content.

    Raises:
        PluginError: the parser, or the reasoning parser, cannot be had.
    """
    plugin, source = plugins.load(name)
    if hasattr(plugin, "configured"):
        other = reasoning if reasoning != name else None
        changes = {} if other is None else {"reasoning": _reasoning(other)}
        plugin = plugin.configured(tokenizer, **changes)
    elif reasoning is not None:
        raise PluginError(f"tool call parser {name!r} reads its reasoning itself; start without a reasoning parser")
    return Parser(name, plugin, source=source)


def _reasoning(name: str) -> Any:
    if name == "none":
        return None
    try:
        form = getattr(plugins.load(name)[0], "form", None)
    except UnknownParserError as error:
        known = ", ".join(error.known)
        raise PluginError(f"unknown reasoning parser {name!r} (installed: {known}; or none)") from None
    if form is None or form.reasoning is None:
        raise PluginError(f"parser {name!r} declares no reasoning; use one that does, or 'none'")
    return form.reasoning


class Parser:
    """One parser with core's defaults, and with wrappers around it if there are any."""

    def __init__(
        self, name: str, plugin: Any, *, wrappers: Iterable[Any] = (), source: plugins.Installed | None = None
    ) -> None:
        self.name = name
        self.plugin = plugin
        self.source = source
        manager = pluggy.PluginManager(hookspecs.PROJECT)
        manager.add_hookspecs(hookspecs)
        manager.register(_Defaults(_own(plugin)), "toolglot's defaults")
        for one in (plugin, *wrappers):
            manager.register(one)
        self._adjust = _bound(manager.hook.adjust_request)
        self._constrain = _bound(manager.hook.get_structural_tag)
        self._whole = _bound(manager.hook.extract_tool_calls)
        self._stream = _bound(manager.hook.extract_tool_calls_streaming)

    @property
    def marker_ids(self) -> frozenset[int]:
        """The ids of the tokens that are markers of the format: they stay in the text that the parser reads."""
        return getattr(self.plugin, "marker_ids", frozenset())

    def parse(
        self,
        text: str,
        *,
        tools: Iterable[ToolLike] = (),
        tool_choice: Any = "auto",
        token_ids: Sequence[int] | None = None,
        reasoning_open: bool = False,
        earlier_calls: int = 0,
        constrained: bool = False,
        finish_reason: Finish = "stop",
        **fields: Any,
    ) -> Message:
        """Read a whole output; ``token_ids`` are its tokens. The context is that of :meth:`stream`."""
        request = _request(tools, tool_choice, reasoning_open, earlier_calls, constrained, fields)
        return self.read(Output(text, tuple(token_ids or ()), finish=finish_reason), request)

    def stream(
        self,
        *,
        tools: Iterable[ToolLike] = (),
        tool_choice: Any = "auto",
        reasoning_open: bool = False,
        earlier_calls: int = 0,
        constrained: bool = False,
        **fields: Any,
    ) -> Stream:
        """Begin to read an output that arrives in pieces.

        ``tools`` and ``tool_choice`` are in OpenAI's form; ``reasoning_open``: the prompt opened the reasoning;
        ``earlier_calls``: how many calls the conversation holds; ``constrained``: the output is written under the
        parser's structural tag; ``fields``: other fields of :class:`~toolglot.requests.Request`.

        Raises:
            RequestError: a tool or the tool choice is not of OpenAI's form.
        """
        return self.start(_request(tools, tool_choice, reasoning_open, earlier_calls, constrained, fields))

    def start(self, request: Request) -> Stream:
        """As :meth:`stream`, for a request."""
        return Stream(self, request)

    def read(self, output: Output, request: Request) -> Message:
        """As :meth:`parse`, for a request."""
        try:
            message: Message = self._whole(output, request)
        except Exception:  # noqa: BLE001  # a plugin's bug must cost no text: all of it is content
            _log.exception("parser %r failed; the output is delivered as content", self.name)
            return Message(content=output.text or None, unparsed=True)
        return without_truncated(message) if request.incomplete_calls == "drop" else message

    def adjust(self, request: Request) -> Request:
        """The request as the parser wants it rendered and decoded."""
        return self._adjust(request) or request

    def constrain(self, request: Request) -> StructuralTag | None:
        """What the model may write for this request; None: anything.

        Raises:
            GrammarError: a schema cannot be enforced, or is nested too deeply.
        """
        try:
            return self._constrain(request)  # type: ignore[no-any-return]  # pluggy's hooks are untyped
        except RecursionError as error:
            raise GrammarError("the tools' schemas lead too deep into one another", param="tools") from error

    def structural_tag(
        self, tools: Iterable[ToolLike], tool_choice: Any = "auto", *, reasoning_open: bool = False, **fields: Any
    ) -> StructuralTag | None:
        """As :meth:`constrain`, from the library's arguments (see :meth:`stream`)."""
        return self.constrain(_request(tools, tool_choice, reasoning_open, 0, constrained=False, fields=fields))

    def render(
        self, calls: Iterable[Call | Mapping[str, Any]], *, tools: Iterable[ToolLike] = (), vary: int | None = None
    ) -> str:
        """Write calls as the model would; ``vary`` seeds other ways that are read alike.

        Raises:
            RenderError: the format cannot express a call.
            PluginError: the parser cannot render.
        """
        if not hasattr(self.plugin, "render"):
            raise PluginError(f"parser {self.name!r} cannot render calls")
        text: str = self.plugin.render([_call(one) for one in calls], tools=_tools(tools), vary=vary)
        return text

    def prompt_reasoning(self, prompt: str) -> Literal["open", "closed", "absent"]:
        """Whether a rendered prompt ends with the reasoning opened, or opened and closed again, or neither."""
        asked = getattr(self.plugin, "prompt_reasoning", None)
        return asked(prompt) if asked else "absent"

    def reasons_in(self, text: str) -> bool:
        """Whether a chat template mentions the format's reasoning."""
        asked = getattr(self.plugin, "reasons_in", None)
        return bool(asked and asked(text))


def _request(
    tools: Iterable[ToolLike],
    choice: Any,
    reasoning_open: bool,  # passed on from keywords
    earlier_calls: int,
    constrained: bool,  # as above
    fields: Mapping[str, Any],
) -> Request:
    return Request(
        tools=_tools(tools),
        tool_choice=tool_choice(choice),
        reasoning_open=reasoning_open,
        earlier_calls=earlier_calls,
        constrained=constrained,
        **fields,
    )


def _tools(tools: Iterable[ToolLike]) -> tuple[Tool, ...]:
    if isinstance(tools, Mapping | str):
        raise RequestError("`tools` must be a list of tools", param="tools")
    return tuple(Tool.from_openai(tool, f"tools[{number}]") for number, tool in enumerate(tools))


def _call(value: Call | Mapping[str, Any]) -> Call:
    if isinstance(value, Call):
        return value
    arguments = value["arguments"]
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return Call(value.get("id", ""), value["name"], text)


class Stream:
    """Reads one output as it arrives."""

    def __init__(self, parser: Parser, request: Request) -> None:
        self._parser = parser
        self._read = parser._stream  # noqa: SLF001  # two halves of one thing
        self._request = request
        self._state = State()
        self._whole = WholeCalls() if request.incomplete_calls == "drop" else None
        self._held: list[str] = []  # pieces of which the plugin has said nothing yet
        self._open: int | None = None
        self._failed = self._finished = False

    @property
    def message(self) -> Message:
        """What has been read so far."""
        return self._state.message

    def feed(self, text: str, token_ids: Sequence[int] = (), marks: Sequence[tuple[int, int]] = ()) -> list[Event]:
        """Read a piece, and return what is now certain.

        ``token_ids`` are the piece's tokens; ``marks`` are (offset, token id) of marker tokens in ``text``, in order.
        Give ids with every piece or with none: the first piece decides whether markers are tokens or text.

        Raises:
            ValueError: the stream is finished.
        """
        return self._events(Delta(text, tuple(token_ids), tuple(marks)))

    def finish(self, finish_reason: Finish = "stop") -> list[Event]:
        """Say that no more comes, and why; return what was still held back.

        Raises:
            ValueError: the stream is finished, or the reason is none.
        """
        if finish_reason not in get_args(Finish):
            raise ValueError(f"finish_reason is {finish_reason!r}; use one of {', '.join(get_args(Finish))}")
        return self._events(Delta("", finish=finish_reason))

    def _events(self, delta: Delta) -> list[Event]:
        if self._finished:
            raise ValueError("the stream is finished")
        self._finished = delta.finish is not None
        events = self._plain(delta) if self._failed else self._parsed(delta)
        if self._whole is not None:
            events = self._whole.only(events)
        self._state.record(events)
        return events

    def _parsed(self, delta: Delta) -> list[Event]:
        try:
            events = self._read(delta, self._state, self._request)
        except Exception:  # noqa: BLE001  # a plugin's bug must cost no text: the rest is content
            _log.exception("parser %r failed; the rest of the output is delivered as content", self._parser.name)
            self._failed = True
            return self._broken() + self._plain(Delta("".join((*self._held, delta.text))))
        if events:
            self._held.clear()
        elif delta.text:
            self._held.append(delta.text)
        for event in events:
            if not isinstance(event, ArgumentsDelta):
                self._note(event)
        return events if isinstance(events, list) else list(events)

    def _note(self, event: Event) -> None:
        """Keep in mind which call is open."""
        if isinstance(event, CallStart):
            self._open = event.index
        elif isinstance(event, CallEnd):
            self._open = None

    def _broken(self) -> list[Event]:
        """The end of the call in which the plugin failed, if it was in one."""
        return [] if self._open is None else [CallEnd(self._open, "malformed")]

    def _plain(self, delta: Delta) -> list[Event]:
        return [ContentDelta(delta.text, unparsed=True)] if delta.text else []


class _Defaults:
    """What holds where a plugin leaves a hook out: the other reading hook, else all text is content."""

    def __init__(self, own: Mapping[str, Callable[..., Any]]) -> None:
        self._whole = own.get("extract_tool_calls")
        self._stream = own.get("extract_tool_calls_streaming")

    @hookimpl(trylast=True)
    def extract_tool_calls(self, output: Output, request: Request) -> Message:
        if self._stream is None:
            return Message(content=output.text or None)
        state = State()
        whole = Delta(output.text, output.token_ids, output.marks, output.finish)
        events = self._stream(whole, state, request)
        state.record(_content(output.text) if events is None else events)
        return state.message

    @hookimpl(trylast=True)
    def extract_tool_calls_streaming(self, delta: Delta, state: State, request: Request) -> Sequence[Event]:
        if self._whole is None:
            return _content(delta.text)
        held: list[Delta] = state.of(self, list)
        held.append(delta)
        if delta.finish is None:
            return []
        output = _joined(held)
        message = self._whole(output, request)
        return _content(output.text) if message is None else _events_of(message)


def _content(text: str) -> list[Event]:
    return [ContentDelta(text)] if text else []


def _joined(deltas: Sequence[Delta]) -> Output:
    text, marks = "", []
    for delta in deltas:
        marks += [(len(text) + offset, number) for offset, number in delta.marks]
        text += delta.text
    ids = tuple(number for delta in deltas for number in delta.token_ids)
    return Output(text, ids, tuple(marks), deltas[-1].finish or "stop")


def _events_of(message: Message) -> list[Event]:
    events: list[Event] = [ReasoningDelta(message.reasoning)] if message.reasoning else []
    if message.content:
        events.append(ContentDelta(message.content, message.unparsed))
    for index, call in enumerate(message.tool_calls):
        events += [CallStart(index, call.id, call.name), ArgumentsDelta(index, call.arguments)]
        events.append(CallEnd(index, call.outcome, call.repairs, call.rest))
    return events


def _own(plugin: Any) -> dict[str, Callable[..., Any]]:
    """A plugin's own implementations, taking all arguments by position."""
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    manager.register(plugin)
    callers = {name: getattr(manager.hook, name) for name in ("extract_tool_calls", "extract_tool_calls_streaming")}
    return {name: _bound(caller) for name, caller in callers.items() if caller.get_hookimpls()}


def _bound(caller: Any) -> Callable[..., Any]:
    """A hook as a function of its arguments by position.

    Without wrappers this calls the implementations directly: pluggy's own call costs ten times as much, at every token.
    """
    names: tuple[str, ...] = caller.spec.argnames
    implementations = caller.get_hookimpls()
    if any(one.wrapper or one.hookwrapper for one in implementations):
        return lambda *arguments: caller(**dict(zip(names, arguments, strict=True)))
    functions = [_positional(one.function, one.argnames, names) for one in reversed(implementations)]
    if len(functions) == 1:
        return functions[0]

    def first_result(*arguments: Any) -> Any:
        for function in functions:
            result = function(*arguments)
            if result is not None:
                return result
        return None

    return first_result


def _positional(function: Callable[..., Any], wanted: Sequence[str], names: Sequence[str]) -> Callable[..., Any]:
    if tuple(wanted) == tuple(names):
        return function
    places = [names.index(name) for name in wanted]
    return lambda *arguments: function(*(arguments[place] for place in places))
