"""Prometheus counters of one server: how calls ended, and what was not held to its schema."""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, generate_latest

from toolglot.events import Outcome, Repair
from toolglot.server.extension import Extension, Relaxed
from toolglot.server.notes import not_enforced

CONTENT_TYPE = CONTENT_TYPE_LATEST
"""The media type of :meth:`Metrics.exposition`."""


class Metrics:
    """Counts for one served model, read by one parser. Each server has a registry of its own."""

    def __init__(self, model: str, parser: str) -> None:
        self._registry = CollectorRegistry()
        self._labels = {"model": model, "parser": parser}
        self._calls = self._counter("tool_calls", "Tool calls by how they ended", "outcome")
        self._repairs = self._counter("tool_call_repairs", "What was put right in tool calls", "repair")
        self._unchecked = self._counter("tool_calls_not_validated", "Tool calls whose schema no validator takes")
        self._relaxed = self._counter("relaxed_keywords", "Schema keywords left out of a reply's grammar", "keyword")
        self._refused = self._counter("refused_schemas", "Requests refused for a schema that cannot be enforced")
        self._unheld = self._counter("replies_not_enforced", "Replies that a grammar should have held, and none did")
        self._begin_at_zero()

    def reply(self, said: Extension) -> None:
        """Count a reply that has ended, and its calls."""
        for call in said.calls:
            self._calls.labels(**self._labels, outcome=call.outcome).inc()
            for repair in call.repairs:
                self._repairs.labels(**self._labels, repair=repair).inc()
            if call.validated is False:
                self._unchecked.labels(**self._labels).inc()
        if not_enforced(said):
            self._unheld.labels(**self._labels).inc()

    def relaxed(self, relaxed: Iterable[Relaxed]) -> None:
        """Count keywords that a reply is not held to."""
        for one in relaxed:
            self._relaxed.labels(**self._labels, keyword=one.keyword).inc()

    def refused(self) -> None:
        """Count a request that is refused for a schema."""
        self._refused.labels(**self._labels).inc()

    def exposition(self) -> bytes:
        """All counters in Prometheus's text format."""
        return generate_latest(self._registry)

    def _counter(self, name: str, help_text: str, *labels: str) -> Counter:
        return Counter(f"toolglot_{name}", help_text, (*self._labels, *labels), registry=self._registry)

    def _begin_at_zero(self) -> None:
        """Make the series whose labels are known, so that the first increase of each is seen as one."""
        for outcome in get_args(Outcome):
            self._calls.labels(**self._labels, outcome=outcome)
        for repair in get_args(Repair):
            self._repairs.labels(**self._labels, repair=repair)
        for counter in (self._unchecked, self._refused, self._unheld):
            counter.labels(**self._labels)
