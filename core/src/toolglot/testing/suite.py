"""The whole suite."""

from __future__ import annotations

from typing import Any

from toolglot.testing.laws.anchored import Anchored
from toolglot.testing.laws.chunk_invariance import ChunkInvariance
from toolglot.testing.laws.commit_point import CommitPoint
from toolglot.testing.laws.grammar import GrammarIsRead
from toolglot.testing.laws.linear import Linear
from toolglot.testing.laws.nothing_lost import NothingLost
from toolglot.testing.laws.round_trip import RoundTrip
from toolglot.testing.laws.truncation import Truncation


class FormatSuite(Anchored, ChunkInvariance, NothingLost, RoundTrip, GrammarIsRead, Linear, CommitPoint, Truncation):
    """The conformance suite of one parser. Subclass it with ``parser`` and ``cases``; other settings are in ``Suite``.

    A law is left out only by overriding its method with one that is marked ``xfail`` with a reason.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, test in vars(cls).items():
            if name.startswith("test_") and hasattr(FormatSuite, name) and not _excused(test):
                raise TypeError(f"{cls.__name__}.{name} drops a law; mark it with pytest.mark.xfail(reason=...)")


def _excused(test: Any) -> bool:
    marks = getattr(test, "pytestmark", ())
    return any(mark.name == "xfail" and mark.kwargs.get("reason") for mark in marks)
