"""Cases: raw outputs with the messages that they mean, one JSON object a line in a plugin's ``tests/cases/*.jsonl``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from toolglot.events import Call, Finish, Message, Outcome
from toolglot.requests import Output, Request, Tool, tool_choice

ANCHORS = ("template", "tokenizer")


class ExpectedCall(Struct, frozen=True, forbid_unknown_fields=True):
    """A call. ``arguments`` is the object, or the exact JSON text; ``outcome`` None: not compared."""

    name: str
    arguments: dict[str, Any] | str
    outcome: Outcome | None = None


class Expected(Struct, frozen=True, forbid_unknown_fields=True):
    """The message. Content and reasoning are compared with runs of whitespace as one space, and none at the ends."""

    content: str | None = None
    reasoning: str | None = None
    tool_calls: tuple[ExpectedCall, ...] = ()


class Case(Struct, frozen=True, forbid_unknown_fields=True):
    """One raw output, how it came about, and what it means."""

    id: str
    source: str
    """The model's template, a public report, …"""
    raw_output: str
    """Without the token that ended it."""
    expected: Expected
    origin: Literal["template", "tokenizer", "report", "made"] = "made"
    """Who wrote it: the model's own chat template or tokenizer (these anchor the markers), a user, or we."""
    tools: tuple[Mapping[str, Any], ...] = ()
    tool_choice: Any = "auto"
    reasoning_open: bool = False
    earlier_calls: int = 0
    constrained: bool = False
    finish_reason: Finish = "stop"
    chunks: tuple[str, ...] | None = None
    """A split that matters."""
    note: str = ""

    @property
    def request(self) -> Request:
        """The request that the output answers."""
        return Request(
            tools=tuple(Tool.from_openai(tool) for tool in self.tools),
            tool_choice=tool_choice(self.tool_choice),
            reasoning_open=self.reasoning_open,
            earlier_calls=self.earlier_calls,
            constrained=self.constrained,
        )

    @property
    def output(self) -> Output:
        """The output as text."""
        return Output(self.raw_output, finish=self.finish_reason)


def load_cases(folder: Path) -> list[Case]:
    """The cases of every ``*.jsonl`` file in ``folder``, in order.

    Raises:
        ValueError: a line is no case, or two cases have one id.
    """
    cases: dict[str, Case] = {}
    for path in sorted(folder.glob("*.jsonl")):
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            case = _case(line, f"{path}:{number}")
            if case.id in cases:
                raise ValueError(f"{path}:{number}: there are two cases with the id {case.id!r}")
            cases[case.id] = case
    return list(cases.values())


def _case(line: str, where: str) -> Case:
    try:
        case = msgspec.json.decode(line, type=Case)
    except msgspec.DecodeError as error:
        raise ValueError(f"{where}: {error}") from None
    if case.chunks is not None and "".join(case.chunks) != case.raw_output:
        raise ValueError(f"{where}: the chunks of {case.id!r} do not add up to its raw output")
    return case


def meaning(message: Message, expected: Expected) -> dict[str, Any]:
    """What of a message is compared with ``expected``."""
    calls = [_call(call, want) for call, want in zip(message.tool_calls, expected.tool_calls, strict=False)]
    calls += [_call(call, None) for call in message.tool_calls[len(calls) :]]
    return {"content": _flat(message.content), "reasoning": _flat(message.reasoning), "tool_calls": calls}


def expectation(expected: Expected) -> dict[str, Any]:
    """The same of ``expected`` itself."""
    calls = [(want.name, _comparable(want.arguments), want.outcome) for want in expected.tool_calls]
    return {"content": _flat(expected.content), "reasoning": _flat(expected.reasoning), "tool_calls": calls}


def _call(call: Call, want: ExpectedCall | None) -> tuple[str, str, Outcome | None]:
    text = want is None or isinstance(want.arguments, str)
    outcome = call.outcome if want and want.outcome else None
    return call.name, call.arguments if text else _canonical(call.arguments), outcome


def _comparable(arguments: dict[str, Any] | str) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, sort_keys=True)


def _canonical(text: str) -> str:
    """JSON text such that equal texts are equal values (unlike Python, where ``1 == True``)."""
    try:
        return json.dumps(json.loads(text), sort_keys=True)
    except ValueError:
        return f"not JSON: {text!r}"


def _flat(text: str | None) -> str:
    return " ".join((text or "").split())
