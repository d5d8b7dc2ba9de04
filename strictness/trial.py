"""One parser writes, reads and is judged: outputs under its grammar for tools with some schemas."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from random import Random

from msgspec import Struct
from msgspec.structs import replace

from strictness.referee import Referee
from strictness.schemas import Schema
from toolglot import Parser, load_parser
from toolglot.errors import GrammarError
from toolglot.events import Call, Message
from toolglot.requests import Delta, Named, Request, Tool
from toolglot.testing import reading
from toolglot.testing.sampling import DeadEndError, Sampler, vocabulary
from toolglot.testing.subject import subject

_TEXT = '{"a": "b", "c": [1, 2.5e10, true, false, null]}\n'
_LIMIT = 3000
"""Tokens in an output: some schemas have dozens of required properties."""
_AGAIN = tuple(f"again {number}" for number in range(5))
"""Models that write a call that did not come of itself."""
_PIECES = 6
"""Up to so many tokens, or characters, come at once."""


class Trial(Struct, frozen=True):
    """What one process does at a time. ``tokens``: the format's markers are tokens of the vocabulary, not text."""

    parser: str
    schemas: tuple[Schema, ...]
    tokens: bool
    seed: int
    only: str | None = None
    """The id of the one schema that is played."""


class Fault(Struct, frozen=True):
    """A call that broke its schema, with all that makes it come again."""

    parser: str
    schema: Schema
    tokens: bool
    request: str
    seed: str
    text: str
    violation: str
    of_schema: bool
    """The call is read well, but not valid."""


class Outcome(Struct):
    """What came of a trial. ``called`` are the ids of schemas that calls came of; ``free`` are calls of tools beside a
    strict one that broke their schemas, as they may: they take any object; ``unwritable`` are reasons why the format
    cannot write tools with some schemas.
    """

    parser: str
    called: list[str] = []
    calls: int = 0
    valid: int = 0
    free: int = 0
    unfinished: int = 0
    faults: list[Fault] = []
    unwritable: dict[str, str] = {}


def run(trial: Trial) -> Outcome:
    """Write two outputs for each schema, by two kinds of models, and judge all calls in them."""
    outcome = Outcome(trial.parser)
    for number, schema in enumerate(trial.schemas):
        if trial.only not in (None, schema.id):
            continue
        other = trial.schemas[number - 1]
        attempt = _Round(trial, number, (schema, other), outcome)
        try:
            if attempt.play():
                outcome.called.append(schema.id)
        except GrammarError as error:
            outcome.unwritable[schema.id] = str(error)
        except Exception as error:  # noqa: BLE001  # a bug with one schema must not hide what comes of the others
            attempt.fault(f"it crashed: {error!r}")
    return outcome


class _Round:
    """One request for a tool with a schema, among which another tool may be."""

    def __init__(self, trial: Trial, number: int, schemas: Sequence[Schema], outcome: Outcome) -> None:
        self._trial = trial
        self._outcome = outcome
        self._parser, self._sampler = _writer(trial.parser, trial.tokens)
        self._tools = tuple(Tool(f"{schema.tool}{'_' * at}", None, schema.sent) for at, schema in enumerate(schemas))
        self._schemas = {tool.name: schema for tool, schema in zip(self._tools, schemas, strict=True)}
        self._number = number
        self._seed = f"{trial.seed}/{trial.parser}/{schemas[0].id}"

    def play(self) -> bool:
        """Whether there was a call of the first tool; where none came of itself, it is asked for.

        Raises:
            GrammarError: the format cannot write these tools.
        """
        found, first = False, self._tools[0]
        with suppress(GrammarError):  # the other tool may be the one that cannot be written
            found = self._written(*_request(self._tools, self._number), ("any", "worst"))
        return found or self._written("named", Request(tools=(first,), tool_choice=Named(first.name)), _AGAIN)

    def _written(self, kind: str, request: Request, models: Sequence[str]) -> bool:
        """Write and judge an output by each of the models, in ``_AGAIN`` up to the first that comes to its end. Whether
        there was a call of the first tool.
        """
        self._kind, self._request = kind, request
        self._held = {tool.name for tool in request.tools if request.enforces(tool)}
        tag = self._parser.constrain(request)
        if tag is None:
            self.fault("there is no grammar for this request")
            return False
        found = False
        for model in models:
            seed = f"{self._seed}/{model}"
            try:
                deltas = self._sampler.output(tag, Random(seed), worst=model == "worst")  # noqa: S311  # nothing secret
            except (GrammarError, DeadEndError) as error:
                self.fault(f"nothing can be written: {error}")
                return False
            if deltas is None:
                self._outcome.unfinished += 1
            elif self._judge(deltas, Random(seed)):  # noqa: S311  # as above
                found = True
                if models is _AGAIN:
                    break
        return found

    def _judge(self, deltas: list[Delta], random: Random) -> bool:
        """Whether there is a call of the first tool."""
        text = "".join(delta.text for delta in deltas)
        pieces = _joined(deltas, random) if self._trial.tokens else _cut(text, random)
        try:
            events = reading.stream(self._parser, replace(self._request, constrained=True), pieces, "stop")
        except AssertionError as error:
            self.fault(f"the events are not as they must be: {error}", text)
            return False
        message = reading.added_up(events)
        if message.unparsed:
            self.fault("what the grammar admits is not read", text)
        if missing := self._missing(message):
            self.fault(missing, text)
        for call in message.tool_calls:
            self._outcome.calls += 1
            self._judge_call(text, call)
        return any(call.name == self._tools[0].name for call in message.tool_calls)

    def _missing(self, message: Message) -> str | None:
        choice, calls = self._request.tool_choice, message.tool_calls
        if choice != "auto" and not calls:
            return "there is no call"
        if len(calls) > 1 and (isinstance(choice, Named) or not self._request.parallel_tool_calls):
            return "there is more than one call"
        return None

    def _judge_call(self, text: str, call: Call) -> None:
        schema = self._schemas.get(call.name)
        if schema is None:
            self.fault(f"no tool is named {call.name!r}", text)
        elif call.name not in self._held and call.outcome == "schema_violation":
            self._outcome.free += 1
        elif violation := Referee(schema.judged, schema.draft).violation(call.arguments):
            self.fault(f"{violation} in {call.arguments}", text, call.name, of_schema=True)
        elif (call.outcome, call.repairs, call.rest) != ("ok", (), ""):
            found = f"it was read as {call.outcome}, with repairs {call.repairs} and the rest {call.rest!r}"
            self.fault(found, text, call.name, of_schema=call.outcome == "schema_violation")
        else:
            self._outcome.valid += 1

    def fault(self, violation: str, text: str = "", name: str | None = None, *, of_schema: bool = False) -> None:
        """Note what is wrong with an output, or with the grammar; ``name`` is the tool's (None: the first one's)."""
        fault = Fault(
            parser=self._trial.parser,
            schema=self._schemas[name or self._tools[0].name],
            tokens=self._trial.tokens,
            request=self._kind,
            seed=self._seed,
            text=text,
            violation=violation,
            of_schema=of_schema,
        )
        self._outcome.faults.append(fault)


def _request(tools: tuple[Tool, ...], number: int) -> tuple[str, Request]:
    """Requests of every kind, in turn."""
    one, turn = tools[0], number % 5
    if turn == 1:
        return "required", Request(tools=tools, tool_choice="required", may_reason=False)
    if turn == 2:
        return "required, one call", Request(
            tools=(one,), tool_choice="required", parallel_tool_calls=False, may_reason=False
        )
    if turn == 3:
        return "auto, level parameter", Request(tools=tools, strict_level="parameter")
    if turn == 4:
        return "auto, one strict tool", Request(tools=(replace(one, strict=True), *tools[1:]))
    return "named", Request(tools=tools, tool_choice=Named(one.name), may_reason=False)


@cache
def _writer(name: str, tokens: bool) -> tuple[Parser, Sampler]:
    """The parser, and what writes for it."""
    markers = subject(name).markers
    texts = [_TEXT, *(text for marker in markers.texts for text in (marker, f"\n{marker}", f"{marker}\n"))]
    tokenizer = vocabulary((), markers.tokens if tokens else (), whole=texts)
    sampler = Sampler(tokenizer, (*markers.texts, *markers.tokens), limit=_LIMIT)
    return load_parser(name, tokenizer=tokenizer), sampler


def _joined(deltas: Sequence[Delta], random: Random) -> Iterator[Delta]:
    """Deltas of some tokens each."""
    start = 0
    while start < len(deltas):
        end = start + random.randint(1, _PIECES)
        yield _one(deltas[start:end])
        start = end


def _one(deltas: Sequence[Delta]) -> Delta:
    text = ""
    marks: list[tuple[int, int]] = []
    for delta in deltas:
        marks += [(len(text) + at, number) for at, number in delta.marks]
        text += delta.text
    return Delta(text, tuple(number for delta in deltas for number in delta.token_ids), tuple(marks))


def _cut(text: str, random: Random) -> Iterator[Delta]:
    """Deltas of some characters each, without tokens."""
    start = 0
    while start < len(text):
        end = start + random.randint(1, _PIECES)
        yield Delta(text[start:end])
        start = end
