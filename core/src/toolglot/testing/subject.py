"""The parser under test, ready in every mode in which it is tested."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, cached_property
from random import Random

from msgspec import Struct

from toolglot.errors import RenderError
from toolglot.events import Call, Finish
from toolglot.formats import WireFormat
from toolglot.parser import Parser, load_parser
from toolglot.requests import Output, Request, Tool
from toolglot.testing import chunking
from toolglot.testing.markers import Markers
from toolglot.testing.turns import Turn, turn
from toolglot.testing.typed import tools_of
from toolglot.testing.writer import Writer

_FIRST_TOKEN = 1000
_PATIENCE = 100
_SHORT = [Call("", "get_weather", text) for text in ("{}", '{"city": "Oslo"}', '{"a": [{"b": "\\\\\\""}]}')]
_EXAMPLE = Call("", "get_weather", '{"city": "Oslo", "days": [1, {"h24": true}], "note": "a \\"b\\" c"}')


class Sample(Struct, frozen=True):
    """An output, the parser that reads it, and the request that it answers."""

    parser: Parser
    output: Output
    request: Request
    cuts: tuple[int, ...]
    """Where the output can be cut."""


class Subject:
    """One parser by name, with its declaration and what random tests of it are made of."""

    def __init__(self, name: str) -> None:
        self.text = load_parser(name)
        """Reads text."""
        self.form: WireFormat = self.text.plugin.form
        self.markers = Markers.of(self.form)
        self.tokens = {marker: _FIRST_TOKEN + number for number, marker in enumerate(self.markers.tokens)}
        self.bound = load_parser(name, tokenizer=self.tokens)
        """Reads output whose markers are tokens."""
        self.silent = load_parser(name, reasoning="none" if self.form.reasoning else None)
        """Reads no reasoning."""

    def render(self, call: Call, seed: int | None = None) -> str:
        """One call as text."""
        return self.text.render([call], tools=self.tools([call]), vary=seed)

    def tools(self, calls: Sequence[Call]) -> tuple[Tool, ...]:
        """The tools of ``calls``. Where the format writes no JSON, their schemas type the arguments."""
        return offered(call.name for call in calls) if self.markers.verbatim else tools_of(calls)

    def request_for(self, calls: Sequence[Call]) -> Request:
        """A request that offers the tools of ``calls``."""
        return Request(tools=self.tools(calls))

    @cached_property
    def common(self) -> Request:
        """A request that offers the tool of the example and of what is mangled."""
        return self.request_for([*_SHORT, _EXAMPLE])

    @cached_property
    def example(self) -> str:
        """A rendered call."""
        return self.render(_EXAMPLE)

    def writer(self, random: Random, size: int) -> Writer:
        """Writes random outputs with this format's markers."""
        return Writer(random, size, self.markers)

    def turn(self, random: Random, size: int) -> Turn:
        """An output made of known pieces, written in any way that the reader grants."""
        return self._turn(random, size, lambda: random.getrandbits(32))

    def canonical_turn(self, random: Random, size: int) -> Turn:
        """The same, written canonically."""
        return self._turn(random, size, lambda: None)

    def call(self, random: Random, size: int) -> Call:
        """A call that the format can express."""
        return self._written_call(self.writer(random, size), None)[0]

    def calls(self, random: Random, size: int) -> list[Call]:
        """Some calls that one output can hold."""
        while True:
            calls = [self.call(random, size) for _ in range(random.randint(1, 4))]
            if self._together(calls):
                return calls

    def _together(self, calls: Sequence[Call]) -> bool:
        """Whether one request can offer the tools of ``calls``: one schema cannot type two calls."""
        return self.markers.verbatim or len({call.name for call in calls}) == len(calls)

    def _turn(self, random: Random, size: int, seed: Callable[[], int | None]) -> Turn:
        writer = self.writer(random, size)
        while True:
            found = turn(writer, self.form, lambda: self._written_call(writer, seed()))
            if self._together(found.calls):
                return found

    def _written_call(self, writer: Writer, seed: int | None) -> tuple[Call, str]:
        for _ in range(_PATIENCE):
            call = writer.call()
            try:
                return call, self.render(call, seed)
            except RenderError:
                continue
        raise AssertionError(f"the format can express none of {_PATIENCE} random calls")

    def mangled(self, random: Random, size: int) -> str:
        """A hostile output."""
        texts = [self.render(call, random.choice((None, random.getrandbits(32)))) for call in _SHORT]
        return self.writer(random, size).mangled([*texts, self.turn(random, size).text])

    def request(self, random: Random, size: int) -> Request:
        """A request that differs in all that changes how an output is read."""
        return self.writer(random, size).request(self.common.tools)

    def sample(self, text: str, request: Request, finish: Finish = "stop") -> Sample:
        """``text`` as text."""
        return Sample(self.text, Output(text, finish=finish), request, tuple(range(1, len(text))))

    def token_sample(
        self, text: str, request: Request, finish: Finish = "stop", *, spelled: Iterable[int] = ()
    ) -> Sample:
        """``text`` with markers as tokens, but for those whose numbers are in ``spelled``: they are only spelled."""
        output = chunking.with_tokens(text, self.tokens, spelled=tuple(spelled), finish=finish)
        return Sample(self.bound, output, request, tuple(chunking.cuts(output, self.tokens)))


def offered(names: Iterable[str]) -> tuple[Tool, ...]:
    """Tools of these names that take any arguments."""
    return tuple(Tool(name) for name in dict.fromkeys(names))


@cache
def subject(name: str) -> Subject:
    """The subject of a name, made once."""
    return Subject(name)
