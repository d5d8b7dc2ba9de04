"""What every law knows: the parser under test, and how many examples to try."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolglot.events import Call, Message
from toolglot.testing import chunking, reading
from toolglot.testing.cases import load_cases
from toolglot.testing.subject import Subject, subject

_USUAL = 100
EXAMPLES = int(os.environ.get("TOOLGLOT_EXAMPLES", _USUAL))
THOROUGH = EXAMPLES > _USUAL
"""Whether this is more than the usual run, which tries the same examples every time, and leaves some out."""
HOSTILE_CUT = 0 if EXAMPLES < _USUAL else chunking.EVERYWHERE
"""Up to which length hostile texts are cut in two at every place; there are hundreds of them for each parser."""
_basis = settings(
    derandomize=not THOROUGH,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.differing_executors],  # the laws are inherited by the suites of several parsers
)
_random = given(random=st.randoms(use_true_random=True), size=st.integers(1, 6))
Law = TypeVar("Law", bound=Callable[..., None])


def law_of(examples: int) -> Callable[[Law], Law]:
    """Decorates a law of random outputs, which takes a source of randomness and a size, to be tried so many times.

    ``TOOLGLOT_EXAMPLES`` multiplies: it says how often laws are tried that are tried 100 times without it. Up to 100
    they are the same in every run.
    """
    tried = settings(_basis, max_examples=max(1, examples * EXAMPLES // _USUAL))

    def decorate(law: Law) -> Law:
        return tried(_random(law))  # type: ignore[return-value]  # hypothesis gives it back without the arguments

    return decorate


class Suite:
    """The parser under test."""

    parser: ClassVar[str]
    """The parser's name."""
    cases: ClassVar[Path]
    """The folder of its case files (see :mod:`toolglot.testing.cases`)."""
    unchecked: ClassVar[frozenset[str]] = frozenset()
    """Markers that nobody found in a template or tokenizer of a model."""

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run each test that has a ``case`` once a case."""
        if "case" in metafunc.fixturenames:
            cases = load_cases(self.cases)
            metafunc.parametrize("case", cases, ids=[case.id for case in cases])

    @pytest.fixture(autouse=True)
    def _errors_raised(self) -> Iterator[None]:
        with reading.errors_raised():
            yield

    @property
    def subject(self) -> Subject:
        """The parser under test, in every mode."""
        return subject(self.parser)

    def calls(self, found: Message | list[Call] | tuple[Call, ...]) -> list[tuple[str, Any]]:
        """Names and arguments of calls, as they are compared."""
        calls = found.tool_calls if isinstance(found, Message) else found
        return [(call.name, self.arguments(call.arguments)) for call in calls]

    @property
    def verbatim(self) -> bool:
        """Arguments are JSON in the output, and pass through as written. If not, only their values are compared."""
        return self.subject.markers.verbatim

    def arguments(self, text: str) -> Any:
        """Arguments as they are compared: as written, or what they mean."""
        return text if self.verbatim else json.dumps(json.loads(text), sort_keys=True)
