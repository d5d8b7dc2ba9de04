"""A fixed series of requests: the same for the same seed, and the beginning of every longer one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

from toolglot.bench import bfcl
from toolglot.bench.agents import tool_sets
from toolglot.bench.bfcl import Question

_NUMBER_OF_TOOLS = (1, 3, 5, 8)
"""How many tools of a set an agent's question comes with: the whole set would be longer than what small models read."""
_ROUNDS = 40
"""How often each of them comes at the most."""
_SHARE = 4
"""Every fourth question is an agent's: BFCL has ten times as many."""


def workload(data: Path, count: int, seed: int, *, longest: int | None = None) -> list[Question]:
    """``count`` questions, BFCL's (from its folder ``data``) and agents' mixed; fewer where there are no more.

    ``longest`` leaves out those that have more characters, with their tools. An agent's question comes again with other
    tools beside the same set's.
    """
    found = [one for one in bfcl.questions(data) if _fits(one, longest)]
    Random(seed).shuffle(found)  # noqa: S311  # nothing secret
    agents = (one for one in _agents(seed) if _fits(one, longest))
    mixed: list[Question] = []
    while found and len(mixed) < count:
        agent = next(agents, None) if len(mixed) % _SHARE == _SHARE - 1 else None
        mixed.append(agent or found.pop())
    return mixed


def _agents(seed: int) -> Iterator[Question]:
    """Agents' questions, every round in another order and with other tools."""
    asked = [(name, number) for name, found in tool_sets().items() for number in range(len(found.questions))]
    for turn in range(_ROUNDS):
        random = Random(seed + turn)  # noqa: S311  # nothing secret
        for name, number in random.sample(asked, len(asked)):
            yield _agent(name, number, turn, random)


def _agent(name: str, number: int, turn: int, random: Random) -> Question:
    found = tool_sets()[name]
    many = min(random.choice(_NUMBER_OF_TOOLS), len(found.tools))
    tools = tuple(one.tool for one in random.sample(found.tools, many))
    return Question(f"{name}_{number}_{turn}", ({"role": "user", "content": found.questions[number]},), tools)


def _fits(question: Question, longest: int | None) -> bool:
    if longest is None:
        return True
    tools = [tool.to_openai() for tool in question.tools]
    return len(json.dumps([tools, question.messages])) <= longest
