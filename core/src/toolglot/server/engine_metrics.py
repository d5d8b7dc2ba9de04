"""Prometheus metrics of the engine: what it does at the moment of asking."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from toolglot.engine.protocol import Engine

_SHOWN: dict[str, tuple[type[CounterMetricFamily | GaugeMetricFamily], str]] = {
    "engine_running": (GaugeMetricFamily, "Requests that hold blocks of the cache"),
    "engine_waiting": (GaugeMetricFamily, "Requests that wait for blocks of the cache, or for one of the places"),
    "engine_pass_tokens": (GaugeMetricFamily, "Tokens that a forward pass takes in at most"),
    "cache_blocks": (GaugeMetricFamily, "Blocks of the cache"),
    "cache_blocks_held": (GaugeMetricFamily, "Blocks that requests hold"),
    "cache_blocks_known": (GaugeMetricFamily, "Blocks whose content requests may share"),
    "cache_blocks_forgotten": (CounterMetricFamily, "Blocks of known content that were given away for other content"),
    "preemptions": (CounterMetricFamily, "Requests that had to give their blocks back, and were computed again"),
}


class EngineMetrics(Collector):
    """Reads ``engine.stats``, whose fields these are."""

    def __init__(self, model: str, engine: Engine) -> None:
        self._model, self._engine = model, engine

    def collect(self) -> Iterator[Metric]:
        stats = self._engine.stats
        if stats is None:
            return
        for name, (kind, help_text) in _SHOWN.items():
            metric = kind(f"toolglot_{name}", help_text, labels=("model",))
            metric.add_metric((self._model,), getattr(stats, name))
            yield metric
