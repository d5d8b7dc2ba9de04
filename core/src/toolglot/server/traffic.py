"""Prometheus metrics of one server's requests: how many, how many tokens, and how long they took."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.registry import Collector

from toolglot.engine.protocol import Speculation

_REQUEST = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250)
_FIRST_TOKEN = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50)
_TOKEN = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)
_COMPILE = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Traffic:
    """The metrics of one served model. Times are in seconds."""

    def __init__(self, model: str) -> None:
        self._registry = CollectorRegistry()
        self._model = model
        self._requests = self._make(
            Counter, "http_requests", "HTTP requests that were answered", ("method", "route", "status")
        )
        self._request_seconds = self._make(
            Histogram, "http_request_seconds", "How long whole answers took", ("route",), buckets=_REQUEST
        )
        self.prompt_tokens = self._one(Counter, "prompt_tokens", "Tokens of prompts")
        self.cached_tokens = self._one(Counter, "prefix_cache_tokens", "Tokens of prompts that were computed before")
        self.completion_tokens = self._one(Counter, "completion_tokens", "Tokens of replies, without stop tokens")
        self._drafted = self._make(Counter, "drafted_tokens", "Tokens of replies that were guessed", ("kind",))
        self._accepted = self._make(Counter, "accepted_tokens", "Those that came indeed", ("kind",))
        self.waiting = self._one(Gauge, "replies_waiting", "Replies without their first token: queued, or reading")
        self.running = self._one(Gauge, "replies_running", "Replies that are being written")
        self.first_token = self._one(
            Histogram, "time_to_first_token_seconds", "From submission to the first token", buckets=_FIRST_TOKEN
        )
        self.between_tokens = self._one(
            Histogram, "inter_token_seconds", "Between two steps of one reply", buckets=_TOKEN
        )
        self.compile = self._one(
            Histogram, "grammar_compile_seconds", "How long grammars took to compile or find", buckets=_COMPILE
        )

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        self._requests.labels(self._model, method, route, str(status)).inc()
        self._request_seconds.labels(self._model, route).observe(seconds)

    def speculation(self, told: Speculation) -> None:
        """Count the tokens that were guessed for one step."""
        self._drafted.labels(self._model, told.kind).inc(told.drafted)
        self._accepted.labels(self._model, told.kind).inc(told.accepted)

    def add(self, collector: Collector) -> None:
        """Show what a collector finds, too."""
        self._registry.register(collector)

    def exposition(self) -> bytes:
        """All metrics in Prometheus's text format."""
        return generate_latest(self._registry)

    def _make(self, kind: Any, name: str, help_text: str, labels: Sequence[str] = (), **settings: Any) -> Any:
        return kind(f"toolglot_{name}", help_text, ("model", *labels), registry=self._registry, **settings)

    def _one(self, kind: Any, name: str, help_text: str, **settings: Any) -> Any:
        """A metric with the model's label only, which begins at zero."""
        return self._make(kind, name, help_text, **settings).labels(self._model)
