"""What a parser is asked, and what it is fed. Requests are frozen: a hook returns a changed copy
(``msgspec.structs.replace``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

from msgspec import Struct, field

from toolglot.errors import RequestError
from toolglot.events import Event, Finish, Message, MessageBuilder

T = TypeVar("T")


class Tool(Struct, frozen=True):
    """A function that the model may call. ``parameters`` is a JSON Schema; ``strict`` asks for grammar enforcement:
    of all of it, or of as much as is possible (``prefer``).
    """

    name: str
    description: str | None = None
    parameters: Mapping[str, Any] | None = None
    strict: bool | Literal["prefer"] | None = None

    @classmethod
    def from_openai(cls, value: Mapping[str, Any] | Tool, at: str = "tools") -> Tool:
        """Read ``{"type": "function", "function": {"name": …}}``.

        Raises:
            RequestError: a field is missing or has the wrong type; ``param`` names it.
        """
        if isinstance(value, Tool):
            return value
        if not isinstance(value, Mapping):
            raise RequestError(f"a tool must be an object, not {type(value).__name__}", param=at)
        function = _object(value, "function", at)
        name = _text(function, "name", f"{at}.function")
        if not name:
            raise RequestError("a tool's name is empty", param=f"{at}.function.name")
        parameters = function.get("parameters")
        if parameters is not None and not isinstance(parameters, Mapping):
            raise RequestError("`parameters` must be a JSON Schema object", param=f"{at}.function.parameters")
        return cls(name, function.get("description"), parameters, function.get("strict"))

    def to_openai(self) -> dict[str, Any]:
        """The same in OpenAI's form, as chat templates expect it."""
        function: dict[str, Any] = {"name": self.name}
        if self.description is not None:
            function["description"] = self.description
        function["parameters"] = (
            {"type": "object", "properties": {}} if self.parameters is None else dict(self.parameters)
        )
        return {"type": "function", "function": function}


class Named(Struct, frozen=True):
    """A ``tool_choice`` that names the one function to call."""

    name: str


ToolChoice: TypeAlias = Literal["auto", "none", "required"] | Named
StrictLevel: TypeAlias = Literal["auto", "function", "parameter"]


def tool_choice(value: Any) -> ToolChoice:
    """Read ``"auto"``, ``"none"``, ``"required"`` or ``{"type": "function", "function": {"name": …}}``.

    Raises:
        RequestError: the value is none of these; ``param`` is ``tool_choice``.
    """
    if isinstance(value, Named) or value in ("auto", "none", "required"):
        return value  # type: ignore[no-any-return]  # just compared with the literals
    if isinstance(value, Mapping):
        function = _object(value, "function", "tool_choice")
        return Named(_text(function, "name", "tool_choice.function"))
    raise RequestError(
        f'`tool_choice` is {str(value)[:80]!r}; use "auto", "none", "required" or a named function', param="tool_choice"
    )


def _object(value: Mapping[str, Any], key: str, at: str) -> Mapping[str, Any]:
    found = value.get(key)
    if not isinstance(found, Mapping):
        raise RequestError(f"`{key}` of `{at}` must be an object", param=f"{at}.{key}")
    return found


def _text(value: Mapping[str, Any], key: str, at: str) -> str:
    found = value.get(key)
    if not isinstance(found, str):
        raise RequestError(f"`{key}` of `{at}` must be a string", param=f"{at}.{key}")
    return found


class Request(Struct, frozen=True, kw_only=True):
    """One request for a reply: what the prompt is made of, and how the reply is decoded and read."""

    messages: tuple[Mapping[str, Any], ...] = ()
    """The conversation in Chat Completions form; arguments of earlier calls are objects."""
    tools: tuple[Tool, ...] = ()
    tool_choice: ToolChoice = "auto"
    parallel_tool_calls: bool = True
    chat_template_kwargs: Mapping[str, Any] = field(default_factory=dict)
    prompt_tools: tuple[Tool, ...] | None = None
    """What the chat template is given instead of ``tools``: none, where a parser has shown them in the messages."""
    skip_special_tokens: bool = True
    """Whether special tokens that are not markers of the format are left out of the text."""
    reasoning_open: bool = False
    """The prompt has already opened the reasoning."""
    may_reason: bool = True
    """Whether the model may open reasoning itself: no when it does not reason, or the prompt has closed the
    reasoning."""
    earlier_calls: int = 0
    """How many calls the conversation holds already (some formats count their ids on)."""
    constrained: bool = False
    """The output was written under this parser's structural tag: it is read exactly, without leniency."""
    repair: bool = True
    """Whether safe repairs are made in unconstrained output."""
    incomplete_calls: Literal["keep", "drop"] = "keep"
    """Whether a call that the token limit cut is delivered as far as it got; ``drop`` holds each call until it ends."""
    unknown_tools: Literal["call", "content"] = "call"
    """What a call of a tool that was not offered becomes."""
    strict_level: StrictLevel = "auto"
    """How much is constrained at the least where the model may choose (``tool_choice`` auto): nothing but strict
    tools, the calls' frame and names (``function``), or all tools' arguments too (``parameter``)."""
    content_schema: Mapping[str, Any] | bool | None = None
    """What the content is JSON of; None: it is free text. A reply is then calls, or such content."""
    any_property_order: bool = False
    """Whether a grammar leaves the order of an object's members to the model. It then sees neither to it that required
    members are there, nor that each is there once. Tools with ``strict: true`` keep their order all the same."""

    @property
    def templated_tools(self) -> tuple[Tool, ...]:
        """The tools that the chat template is given."""
        return self.tools if self.prompt_tools is None else self.prompt_tools

    @property
    def calls_allowed(self) -> bool:
        """Whether the reply may hold calls at all."""
        return bool(self.tools) and self.tool_choice != "none"

    @property
    def call_demanded(self) -> bool:
        """Whether the reply must hold a call."""
        return self.tool_choice not in ("auto", "none")

    @property
    def calls_enforced(self) -> bool:
        """Whether calls are to be held to a grammar: always where they are demanded; else as the tools or the level
        say.
        """
        asked = self.strict_level != "auto" or any(tool.strict for tool in self.tools)
        return self.calls_allowed and (asked or self.call_demanded)

    def enforces(self, tool: Tool) -> bool:
        """Whether the arguments of ``tool`` are to be held to its schema: with ``tool_choice`` auto, where it is strict
        or the level says so.
        """
        match self.tool_choice:
            case "auto":
                return bool(tool.strict) or self.strict_level == "parameter"
            case Named(name):
                return tool.name == name
        return self.tool_choice == "required"


class Delta(Struct, frozen=True):
    """A piece of output. ``marks`` are (offset, token id) of marker tokens in ``text``; ``finish`` is set on the
    last one.
    """

    text: str
    token_ids: tuple[int, ...] = ()
    marks: tuple[tuple[int, int], ...] = ()
    finish: Finish | None = None


class Output(Struct, frozen=True):
    """A whole output; fields as in :class:`Delta`."""

    text: str
    token_ids: tuple[int, ...] = ()
    marks: tuple[tuple[int, int], ...] = ()
    finish: Finish = "stop"


class State:
    """What one reply's parse remembers: core makes one a choice, parser and wrappers each have their own slot in it."""

    def __init__(self) -> None:
        self._builder = MessageBuilder()
        self._slots: dict[int, tuple[object, Any]] = {}

    @property
    def message(self) -> Message:
        """What earlier deltas produced."""
        return self._builder.message()

    def of(self, owner: object, make: Callable[[], T]) -> T:
        """The slot of ``owner`` (compared by identity), made by ``make`` at the first use."""
        slot = self._slots.get(id(owner))
        if slot is None:
            slot = self._slots[id(owner)] = (owner, make())
        found: T = slot[1]
        return found

    def record(self, events: Sequence[Event]) -> None:
        """Core's: add what a delta produced to :attr:`message`."""
        for event in events:
            self._builder.add(event)

    def validated(self, done: bool) -> None:
        """Core's: whether the calls were checked against their schemas."""
        self._builder.validated = done


class Tokenizer(Protocol):
    """The part of a tokenizer that parsing needs; transformers' and tokenizers' both have it."""

    def decode(self, ids: Any, /, *, skip_special_tokens: bool = ...) -> str: ...
