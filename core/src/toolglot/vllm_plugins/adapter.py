"""A tool parser of vLLM as a plugin with toolglot's hooks."""

from __future__ import annotations

import inspect
import json
import logging
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from msgspec.structs import replace

from toolglot.errors import PluginError, PluginFileError
from toolglot.events import ContentDelta, Event, Message, MessageBuilder
from toolglot.hookspecs import hookimpl
from toolglot.requests import Delta, Named, Output, Request, State, ToolChoice
from toolglot.vllm_plugins.calls import CallWriter
from toolglot.vllm_plugins.modules import standing_in
from toolglot.vllm_plugins.session import Session, whole_events
from toolglot.vllm_plugins.tokens import TextTokenizer, TokenCutter
from toolglot.vllm_plugins.tool_parser import ToolParser
from toolglot.vocabulary import added_tokens

_log = logging.getLogger(__name__)


_CONSTRAINTS = ("structured_outputs", "response_format")


class VllmParser:
    """Makes a ``ToolParser`` of ``cls`` for each output. ``path`` is the file that the class is from."""

    def __init__(self, cls: type[Any], path: str, *, tokenizer: Any = None) -> None:
        self._class = cls
        self._path = path
        unknown = tokenizer is None or isinstance(tokenizer, Mapping)
        self._tokenizer = TextTokenizer(tokenizer) if unknown else tokenizer
        self._warned = False

    def configured(self, tokenizer: Any, **changes: Any) -> VllmParser:
        """The same for a tokenizer.

        Raises:
            PluginFileError: the class cannot be used with it.
            PluginError: a reasoning parser is asked for.
        """
        if changes.get("reasoning") is not None:
            raise PluginError(f"{self._label} was written for vLLM and reads no reasoning; use no reasoning parser")
        ready = VllmParser(self._class, self._path, tokenizer=tokenizer)
        try:
            with ready.names():
                ready.parser(None)
        except Exception as error:
            reason = f"{self._class.__name__} cannot be used with this tokenizer: {type(error).__name__}: {error}"
            raise PluginFileError(self._path, reason) from error
        return ready

    @hookimpl
    def adjust_request(self, request: Request) -> Request | None:
        if not request.calls_allowed:
            return None
        try:
            with self.names():
                _, asked = self.begin(request)
        except Exception:  # noqa: BLE001  # the file's code can fail in any way; the request is served as it stands
            _log.exception("%s failed to adjust a request, which is left as it is", self._label)
            return None
        return replace(request, skip_special_tokens=asked.skip_special_tokens)

    @hookimpl
    def extract_tool_calls(self, output: Output, request: Request) -> Message | None:
        if not request.calls_allowed:
            return Message(content=output.text or None)
        calls, builder = CallWriter(request.tools), MessageBuilder()
        with self.names():
            parser, asked = self.begin(request)
            try:
                information = parser.extract_tool_calls(output.text, asked)
            except NotImplementedError:  # some files read streams only
                return None
        for event in whole_events(information, output.text, calls, output.finish):
            builder.add(event)
        builder.validated = calls.checked
        return builder.message()

    @hookimpl
    def extract_tool_calls_streaming(self, delta: Delta, state: State, request: Request) -> Sequence[Event] | None:
        if not request.calls_allowed:
            return [ContentDelta(delta.text)] if delta.text else []
        with self.names():
            session = state.of(self, lambda: self._session(delta, request))
            events = session.read(delta)
        state.validated(session.calls.checked)
        return events

    def names(self) -> AbstractContextManager[None]:
        """What the file's code runs in: it may import names of vLLM at any time."""
        return standing_in() if issubclass(self._class, ToolParser) else nullcontext()

    def begin(self, request: Request) -> tuple[Any, Any]:
        """A parser for one output, and the request as the parser wants it."""
        asked = vllm_request(self._class, request)
        parser = self.parser(asked.tools)
        asked = parser.adjust_request(asked) or asked
        if not self._warned and any(getattr(asked, field, None) for field in _CONSTRAINTS):
            self._warned = True
            _log.warning("%s asks for structured output, which toolglot does not apply for it", self._label)
        return parser, asked

    def parser(self, tools: Any) -> Any:
        """A new parser. Older files take the tokenizer alone."""
        try:
            inspect.signature(self._class).bind(self._tokenizer, tools)
        except TypeError:
            return self._class(self._tokenizer)
        return self._class(self._tokenizer, tools)

    @property
    def _label(self) -> str:
        return f"tool parser {self._class.__name__} of {self._path}"

    def _session(self, first: Delta, request: Request) -> Session:
        parser, asked = self.begin(request)
        cutter = None if first.token_ids else TokenCutter(self._markers(), self._encode)
        end = getattr(self._tokenizer, "eos_token_id", None)
        return Session(parser, asked, CallWriter(request.tools), label=self._label, cutter=cutter, end=end)

    def _markers(self) -> Mapping[str, int]:
        return self._tokenizer.markers if isinstance(self._tokenizer, TextTokenizer) else added_tokens(self._tokenizer)

    def _encode(self, text: str) -> list[int]:
        encoded = self._tokenizer.encode(text, add_special_tokens=False)
        return list(getattr(encoded, "ids", encoded))  # tokenizers' own has more than the ids


def vllm_request(parser: type[Any], request: Request) -> Any:
    """A request as vLLM gives it to a parser: of the class that stands beside the parser's base class."""
    base = [one for one in parser.__mro__ if one.__name__ == "ToolParser"][-1]
    return vars(sys.modules[base.__module__])["ChatCompletionRequest"](
        messages=[_message(message) for message in request.messages],
        model="",
        tools=[tool.to_openai() for tool in request.tools],
        tool_choice=_choice(request.tool_choice),
        parallel_tool_calls=request.parallel_tool_calls,
        chat_template_kwargs=dict(request.chat_template_kwargs),
        skip_special_tokens=request.skip_special_tokens,
    )


def _choice(choice: ToolChoice) -> Any:
    return {"type": "function", "function": {"name": choice.name}} if isinstance(choice, Named) else choice


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message as clients send it: the arguments of its calls are JSON text."""
    calls = [{**call, "function": _function(call["function"])} for call in message.get("tool_calls") or ()]
    return {**message, "tool_calls": calls} if calls else dict(message)


def _function(function: Mapping[str, Any]) -> dict[str, Any]:
    arguments = function["arguments"]
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return {**function, "arguments": text}
