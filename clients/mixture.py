"""What the clients of a soak ask for, how they leave, and what has to come of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from random import Random
from typing import Any

import jsonschema_rs

from clients.serving import MODEL

CHAT = "/v1/chat/completions"
_REFUSED = (400, 404, 422)
_WORDS = ("rain", "sun", "wind", "snow", "fog", "frost", "hail", "storm")


@dataclass(frozen=True)
class Ask:
    """A request, when its client leaves, and how the server may answer."""

    kind: str
    body: dict[str, Any] | bytes
    path: str = CHAT
    statuses: Collection[int] = (200,)
    events: int | None = None
    """After how many events of its stream the client leaves."""
    seconds: float | None = None
    """After how long the client leaves, whatever has come."""

    @property
    def streamed(self) -> bool:
        """Whether a stream is asked for."""
        return isinstance(self.body, dict) and bool(self.body.get("stream"))


@dataclass
class Said:
    """One choice of a reply."""

    content: str = ""
    calls: list[dict[str, str]] = field(default_factory=list)
    finish: str | None = None

    def take(self, choice: dict[str, Any]) -> None:
        """Add a choice of a chunk, or the choice of a whole reply."""
        delta = choice.get("delta") or choice.get("message") or {}
        self.content += delta.get("content") or ""
        for place, call in enumerate(delta.get("tool_calls") or ()):
            index = call.get("index", place)
            self.calls += [{"name": "", "arguments": ""} for _ in range(index + 1 - len(self.calls))]
            for name, value in call["function"].items():
                self.calls[index][name] += value or ""
        self.finish = choice.get("finish_reason") or self.finish


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _tool(name: str, schema: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": name, "parameters": schema, **more}}


TOOLS = {
    "get_weather": _object(city={"type": "string", "maxLength": 8}, unit={"enum": ["C", "F"]}),
    "add": _object(a={"type": "integer", "minimum": 0, "maximum": 99}, b={"type": "integer", "maximum": 9}),
    "mark": _object(tags={"type": "array", "items": {"enum": ["a", "b", "c"]}, "minItems": 1, "maxItems": 3}),
}
_FORMAT = _object(sky={"enum": list(_WORDS)}, degrees={"type": "integer", "minimum": -9, "maximum": 40})
_NOT_ENFORCED = _object(a={"type": "array", "items": {"type": "integer"}, "uniqueItems": True})
_COSTLY = (
    _object(a={"type": "string", "pattern": "^(a{1,1000}){1,1000}$"}),
    _object(a={"type": "string", "pattern": "a[ab]{300}$"}),
    {"type": "object", "properties": {f"p{number}": {"type": "string"} for number in range(300)}, "minProperties": 90},
)


def invalid_calls(said: Said) -> list[str]:
    """The calls that name no tool or do not validate. Those of a reply that was cut are not looked at."""
    if said.finish == "length":
        return []
    return [f"{call}" for call in said.calls if not _valid(call)] or ([] if said.calls else ["no call at all"])


def _valid(call: dict[str, str]) -> bool:
    try:
        return jsonschema_rs.is_valid(TOOLS[call["name"]], json.loads(call["arguments"]))
    except (KeyError, ValueError):
        return False


def broken_content(said: Said) -> list[str]:
    """The content, where it is whole and not as :func:`formatted` asks for."""
    try:
        fits = said.finish == "length" or jsonschema_rs.is_valid(_FORMAT, json.loads(said.content))
    except ValueError:
        fits = False
    return [] if fits else [said.content]


def chat(chance: Random, **fields: Any) -> dict[str, Any]:
    """A body with a short question, streamed or whole, seeded or not."""
    question = f"Say {chance.choice(_WORDS)} {chance.randrange(1000)} times."
    body = {"model": MODEL, "messages": [{"role": "user", "content": question}], "max_tokens": chance.randint(4, 48)}
    if chance.random() < 0.5:
        body["stream"] = True
    if chance.random() < 0.3:
        body["seed"] = chance.randrange(5)
    return body | fields


def plain(chance: Random) -> Ask:
    return Ask("plain", chat(chance, temperature=chance.choice([0, 0.7, 1.2]), top_p=chance.choice([0.5, 1])))


def long_reply(chance: Random) -> Ask:
    """It grows while others want blocks too, so that one of them has to give its own back."""
    return Ask("long reply", chat(chance, max_tokens=chance.randint(100, 250), ignore_eos=True, temperature=1))


def with_tools(chance: Random, kind: str, choice: Any) -> Ask:
    names = chance.sample(sorted(TOOLS), 3)
    tools = [_tool(name, TOOLS[name]) for name in names]
    parallel = chance.random() < 0.3
    return Ask(
        kind,
        chat(chance, tools=tools, tool_choice=choice, max_tokens=64, parallel_tool_calls=parallel),
        CHAT,
        (200, 429),
    )


def required(chance: Random) -> Ask:
    return with_tools(chance, "required", "required")


def automatic(chance: Random) -> Ask:
    return with_tools(chance, "auto", "auto")


def named(chance: Random) -> Ask:
    name = chance.choice(sorted(TOOLS))
    return with_tools(chance, "named", {"type": "function", "function": {"name": name}})


def long_prompt(chance: Random) -> Ask:
    """One of some long beginnings, and an end of its own."""
    which = chance.randrange(4)
    start = " ".join(f"{_WORDS[(which + number) % len(_WORDS)]}" for number in range(200))
    messages = [{"role": "system", "content": start}, {"role": "user", "content": f"{chance.random()}"}]
    return Ask("long prompt", chat(chance, messages=messages))


def several(chance: Random) -> Ask:
    return Ask("n", chat(chance, n=chance.randint(2, 4), temperature=1, max_tokens=12))


def with_logprobs(chance: Random) -> Ask:
    return Ask("logprobs", chat(chance, logprobs=True, top_logprobs=chance.randrange(5), frequency_penalty=0.5))


def formatted(chance: Random) -> Ask:
    form = {"type": "json_schema", "json_schema": {"name": "sky", "schema": _FORMAT, "strict": True}}
    return Ask("format", chat(chance, response_format=form, max_tokens=64), CHAT, (200, 429))


def messages_api(chance: Random) -> Ask:
    return Ask("messages", chat(chance), "/v1/messages")


def responses_api(chance: Random) -> Ask:
    body = {"model": MODEL, "input": f"Say {chance.randrange(1000)}.", "max_output_tokens": 24}
    return Ask("responses", body | {"stream": chance.random() < 0.5, "store": False}, "/v1/responses")


def leaves_early(chance: Random) -> Ask:
    """Mostly before its first token: while it waits, while its prompt is read, or while a grammar is compiled."""
    ask = chance.choice([plain, required, long_prompt, several])(chance)
    return Ask("leaves early", ask.body, ask.path, ask.statuses, seconds=chance.random() ** 3)


def leaves_later(chance: Random) -> Ask:
    ask = chance.choice([plain, required, long_prompt, several])(chance)
    assert isinstance(ask.body, dict)
    body = ask.body | {"stream": True, "max_tokens": 64}
    return Ask("leaves later", body, ask.path, ask.statuses, events=chance.randint(1, 20))


def refused_grammar(chance: Random) -> Ask:
    """A strict tool that no grammar can enforce, with a schema that is new each time."""
    schema = _NOT_ENFORCED | {"description": f"{chance.random()}"}
    tools = [_tool("f", schema, strict=True)]
    return Ask("refused grammar", chat(chance, tools=tools), CHAT, (400,))


def hostile_grammar(chance: Random) -> Ask:
    """A schema that is made to cost much, new each time."""
    schema = _object(outer=chance.choice(_COSTLY), **{f"x{chance.random()}": {"type": "null"}})
    tools = [_tool("f", schema, strict=True)]
    return Ask("hostile grammar", chat(chance, tools=tools, tool_choice="required"), CHAT, (200, 400, 429))


def bad_request(chance: Random) -> Ask:
    bodies: list[dict[str, Any] | bytes] = [
        b"{",
        b"\xff" * 50,
        chat(chance, messages=[]),
        chat(chance, max_tokens=0),
        chat(chance, temperature="hot"),
        chat(chance, model="no such model"),
        chat(chance, messages=[{"role": "user", "content": "far too long " * 5000}]),
        chat(chance, tools=[{"type": "function"}]),
        chat(chance, tool_choice="required"),
        chat(chance, n=1000),
        chat(chance, logit_bias={"-1": 5}),
    ]
    return Ask("bad request", chance.choice(bodies), CHAT, _REFUSED)


KINDS: dict[Callable[[Random], Ask], int] = {
    plain: 6,
    required: 6,
    automatic: 3,
    named: 3,
    long_prompt: 5,
    long_reply: 9,
    several: 2,
    with_logprobs: 2,
    formatted: 3,
    messages_api: 2,
    responses_api: 2,
    leaves_early: 5,
    leaves_later: 5,
    refused_grammar: 1,
    hostile_grammar: 1,
    bad_request: 4,
}
"""How often each kind is asked for."""


def draw(chance: Random) -> Ask:
    """The next request of a client."""
    (kind,) = chance.choices(list(KINDS), list(KINDS.values()))
    return kind(chance)
