"""The parser under test, ready in every mode in which it is tested."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, cached_property

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from msgspec import Struct

from toolglot.events import Call, Finish
from toolglot.formats import WireFormat
from toolglot.parser import Parser, load_parser
from toolglot.requests import Output, Request, Tool
from toolglot.testing import chunking, strategies
from toolglot.testing.markers import Markers
from toolglot.testing.turns import Turn, turns

_FIRST_TOKEN = 1000


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
        return self.text.render([call], vary=seed)

    @cached_property
    def example(self) -> str:
        """A rendered call."""
        return self.render(
            Call("", "get_weather", '{"city": "Oslo", "days": [1, {"h24": true}], "note": "a \\"b\\" c"}')
        )

    @cached_property
    def turns(self) -> SearchStrategy[Turn]:
        """Outputs made of known pieces, written in every way that the reader grants."""
        return turns(self.form, self.render)

    @cached_property
    def canonical_turns(self) -> SearchStrategy[Turn]:
        """The same, written canonically."""
        return turns(self.form, lambda call, _: self.render(call))

    @cached_property
    def mangled(self) -> SearchStrategy[str]:
        """Hostile outputs."""
        short = [Call("", "get_weather", text) for text in ("{}", '{"city": "Oslo"}', '{"a": [{"b": "\\\\\\""}]}')]
        seeds = st.none() | st.integers(0, 2**32)
        texts = self.turns.map(lambda turn: turn.text) | st.builds(self.render, st.sampled_from(short), seeds)
        return strategies.mangled(texts, self.markers)

    @cached_property
    def requests(self) -> SearchStrategy[Request]:
        """Requests that differ in all that changes how an output is read."""
        return st.builds(
            Request,
            tools=st.just(offered(["get_weather"])) | st.just(()),
            tool_choice=st.sampled_from(("auto", "auto", "none")),
            reasoning_open=st.booleans(),
            constrained=st.booleans(),
            repair=st.booleans(),
            unknown_tools=st.sampled_from(("call", "content")),
        )

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
