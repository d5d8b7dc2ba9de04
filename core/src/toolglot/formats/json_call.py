"""A call as one JSON object: ``{"name": "get_weather", "arguments": {"city": "Oslo"}}``. The order of its keys is
free.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from toolglot.formats.body import NO_ID, NUMBER, Body, Freedom
from toolglot.formats.json_text import (
    Ending,
    Json,
    Sink,
    read_key,
    read_scalar,
    read_string,
    read_value,
    require_object,
)

if TYPE_CHECKING:
    from toolglot.events import Call, Repair
    from toolglot.formats.body import Pieces
    from toolglot.formats.cursor import Reading
    from toolglot.formats.machine import Machine
    from toolglot.formats.signature import Signature
    from toolglot.requests import Tool


class JsonCall(Body, frozen=True):
    """The keys of a call's object. The first of ``arguments`` is canonical."""

    name: str = "name"
    arguments: tuple[str, ...] = ("arguments",)
    id: str | None = None
    """The key of the call's id, where the model may write one; the grammar leaves it out."""
    index: str | None = None
    """The key of the call's number, which comes first; it is the id that the model wrote."""
    space: str = " "
    """What is written behind a comma and a colon."""

    @property
    def first(self) -> str:
        return "{"

    @property
    def verbatim(self) -> bool:
        return True

    def read(self, machine: Machine) -> Reading[None]:
        yield from _Reader(self, machine).read()

    def render(self, call: Call, index: int, tool: Tool | None, vary: Freedom | None) -> str:  # noqa: ARG002  # JSON needs no schema
        require_object(call)
        members = [(self.name, json.dumps(call.name, ensure_ascii=False)), (self.arguments[0], call.arguments)]
        if self.id is not None and (call.id or vary):
            members.append((self.id, json.dumps(call.id or NO_ID, ensure_ascii=False)))
        number = [] if self.index is None else [(self.index, f'"{index}"')]
        if vary is not None:
            return self._varied(members + number, vary)
        return _object(number + members, f",{self.space}", f":{self.space}")

    def _varied(self, members: list[tuple[str, str]], vary: Freedom) -> str:
        members[1] = (vary.choice(self.arguments), members[1][1])
        if vary.random() < 0.2 and not vary.bare:  # the object as a string
            members[1] = (members[1][0], json.dumps(members[1][1], ensure_ascii=vary.random() < 0.5))
        if vary.random() < 0.3:  # a member of no meaning
            members.append(("type", '"function"'))
        first, others = (members[:1], members[1:]) if vary.bare else ([], members)
        vary.shuffle(others)
        members = first + others
        space = [vary.choice(("", " ", "\n", "\t \r\n")) for _ in range(4)]
        return "{" + space[0] + _object(members, space[1] + "," + space[2], space[3] + ":" + space[0])[1:]

    def grammar(self, signature: Signature) -> Pieces:
        comma, colon = f",{self.space}", f":{self.space}"
        head = (
            f'"{self.name}"{colon}{json.dumps(signature.name, ensure_ascii=False)}{comma}"{self.arguments[0]}"{colon}'
        )
        number = ("{",) if self.index is None else (f'{{"{self.index}"{colon}"', NUMBER, f'"{comma}')
        return (*number[:-1], number[-1] + head, *Json().grammar(signature), "}")


def _object(members: list[tuple[str, str]], comma: str, colon: str) -> str:
    return "{" + comma.join(f"{json.dumps(key)}{colon}{value}" for key, value in members) + "}"


class _Reader:
    """Reads one object. Members that are no part of the call are its ``rest``."""

    def __init__(self, body: JsonCall, machine: Machine) -> None:
        self.body = body
        self.machine = machine
        self.named = self.argued = False
        keys = (body.index, body.name, body.arguments[0])
        self.order = iter([key for key in keys if key is not None])  # as the grammar writes them
        self.early: list[str] = []  # arguments that came before the name
        self.repairs: list[Repair] = []  # what was repaired in them

    def read(self) -> Reading[None]:
        yield from self.machine.literal("{")
        key = yield from self._first()
        while key is not None:
            yield from self._member(key)
            self.machine.tentative()
            key = yield from self._next()
        self.machine.settle()
        if not self.named:
            raise self.machine.wrong()
        if not self.argued and self.machine.bare:
            raise self.machine.wrong()  # an ordinary answer can have a name
        if not self.argued:
            self.machine.supply("missing_arguments")

    def _first(self) -> Reading[str | None]:
        yield from self.machine.gap("")
        if (yield from self.machine.peek()) == "}":
            self.machine.take(self.machine.at + 1)
            return None
        if not self.machine.bare:
            return (yield from self._key())
        yield from self.machine.literal(f'"{self.body.name}"')  # an ordinary answer shows at its first letter
        yield from self._colon()
        return self.body.name

    def _next(self) -> Reading[str | None]:
        machine = self.machine
        yield from machine.gap("")
        char = yield from machine.peek()
        if char not in ",}":
            raise machine.wrong()
        machine.take(machine.at + 1)
        if char == "}":
            return None
        yield from machine.gap(self.body.space)
        return (yield from self._key())

    def _key(self) -> Reading[str]:
        key = yield from read_key(self.machine)
        if key is None:
            raise self.machine.wrong()
        yield from self._colon()
        return key

    def _colon(self) -> Reading[None]:
        yield from self.machine.gap("")
        yield from self.machine.literal(":")
        yield from self.machine.gap(self.body.space)

    def _member(self, key: str) -> Reading[None]:
        machine, body = self.machine, self.body
        if machine.layout.exact and key != next(self.order, None):
            raise machine.wrong()
        machine.settle()
        if key == body.name and not self.named:
            yield from self._name()
        elif key in body.arguments and not self.argued:
            self.argued = True
            yield from self._arguments()
        elif key in (body.id, body.index):
            machine.identified((yield from self._id()))
        else:
            yield from self._extra(key)

    def _name(self) -> Reading[None]:
        name = yield from read_key(self.machine)
        if name is None:
            raise self.machine.wrong()
        self.machine.named(name)
        self.named = True
        if self.argued:
            self.machine.begin()
            for repair in self.repairs:
                self.machine.repaired(repair)
            self._whole("".join(self.early))

    def _arguments(self) -> Reading[None]:
        """The arguments: an object, sent on as it comes; before the name it is kept."""
        machine = self.machine
        char = yield from machine.peek()
        if machine.bare and char != "{":
            raise machine.wrong()
        if char in "{[":
            ending = yield from read_value(machine, self._sink())
        elif char == '"':
            sink = self._sink()
            self._repair("string_arguments")
            ending = yield from read_string(machine, sink, decoded=machine.may_repair)
        else:
            ending = yield from self._scalar()
        if ending == "ender":
            raise machine.wrong()
        if self.named:
            machine.complete()

    def _scalar(self) -> Reading[Ending]:
        text = yield from read_scalar(self.machine)
        if not text:
            raise self.machine.wrong()
        sink = self._sink()
        if text == "null" and self.machine.may_repair:
            self._repair("null_arguments")
            text = "{}"
        sink(text)
        return "closed"

    def _sink(self) -> Sink:
        if not self.named:
            return self.early.append
        self.machine.begin()
        return self.machine.arguments

    def _repair(self, repair: Repair) -> None:
        if self.named:
            self.machine.repaired(repair)
        else:
            self.repairs.append(repair)

    def _whole(self, text: str) -> None:
        self.machine.arguments(text)
        self.machine.complete()

    def _id(self) -> Reading[str]:
        own = yield from read_key(self.machine)
        return own if own is not None else (yield from read_scalar(self.machine))

    def _extra(self, key: str) -> Reading[None]:
        machine = self.machine
        machine.rest(f"{json.dumps(key, ensure_ascii=False)}: ")
        if key == self.body.name or key in self.body.arguments:
            machine.malformed()  # the key is there already
        char = yield from machine.peek()
        if char in "{[":
            ending = yield from read_value(machine, machine.rest)
        elif char == '"':
            ending = yield from read_string(machine, machine.rest, decoded=False)
        else:
            machine.rest((yield from read_scalar(machine)))
            ending = "closed"
        if ending == "ender":
            raise machine.wrong()
