"""Two functions that agents call, and the replies that make an agent call them and come to an end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import toolglot

ONE_BY_ONE, AT_ONCE = "Weather, then the time?", "Weather and time?"
"""What users ask. The first takes two calls in two turns, the other two calls in one."""
ANSWER = "Regen um zwölf ☂ in Oslo."
LOOKING = "I look it up."
TYPED = "Weather, as JSON?"
"""What a user asks who wants an object: its city, and whether there is rain."""

calls: list[tuple[str, str]] = []
"""The calls since :func:`forget`."""


def get_weather(city: str) -> str:
    """What the weather is like in a city."""
    calls.append(("get_weather", city))
    return f"rain over {city}"


def get_time(zone: str) -> str:
    """What time it is in a time zone."""
    calls.append(("get_time", zone))
    return f"noon in {zone}"


def forget() -> None:
    """Empty :data:`calls`."""
    calls.clear()


def came_to_its_end(answer: Any) -> None:
    """Raises AssertionError: the agent did not call both functions, each once, and end with the answer."""
    assert answer == ANSWER
    assert sorted(calls) == [("get_time", "CET"), ("get_weather", "Oslo")]


def outputs(parser: str) -> list[dict[str, Any]]:
    """The replies in a parser's dialect, each chosen by what the prompt holds so far: the last turn comes first."""
    weather = {"name": "get_weather", "arguments": {"city": "Oslo"}}
    time = {"name": "get_time", "arguments": {"zone": "CET"}}
    return [
        {"match": "noon in CET", "output": _thought("Now I know.") + ANSWER, "chunks": [5, 1, 7]},
        {"match": "rain over Oslo", "output": written(parser, time), "chunks": 3},
        {"match": AT_ONCE, "output": _thought("Both.") + LOOKING + written(parser, weather, time), "chunks": 4},
        {"match": TYPED, "output": '{"city": "Oslo", "rain": true}'},
        {"match": ONE_BY_ONE, "output": LOOKING + written(parser, weather)},
    ]


def written(parser: str, *calls: dict[str, Any]) -> str:
    """Calls as a model of the parser's family writes them."""
    return toolglot.load_parser(parser).render(calls, tools=[_tool(call["name"], call["arguments"]) for call in calls])


def _tool(name: str, parameters: Sequence[str]) -> dict[str, Any]:
    schema = {"type": "object", "properties": {one: {"type": "string"} for one in parameters}}
    return {"type": "function", "function": {"name": name, "parameters": schema}}


def _thought(text: str) -> str:
    return f"<think>{text}</think>"
