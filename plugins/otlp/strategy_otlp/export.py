"""The key numbers of a run as OpenTelemetry gauges, sent once to a collector by OTLP over HTTP.

    strategy-lab export RUN --format otlp -o http://127.0.0.1:4318

One gauge per key number (`strategy_lab.step_time_ms`) with a point per segment. Headers, for a
collector that asks for a key, come from OTEL_EXPORTER_OTLP_HEADERS.
"""

from __future__ import annotations

import logging
from urllib.parse import urlsplit

from strategy_profiles.errors import LabError
from strategy_profiles.exports.destination import Destination
from strategy_profiles.exports.key_metrics import segment_metrics
from strategy_profiles.extras import Extra
from strategy_profiles.tables.store import Profile

TIMEOUT_S = 10.0
"""For all tries together; the exporter tries again when a collector is busy."""
_PATH = "/v1/metrics"


def _send(profile: Profile, address: str) -> str:
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader, MetricExportResult
    from opentelemetry.sdk.resources import Resource

    endpoint = _endpoint(address)
    segments = segment_metrics(profile)
    reader = InMemoryMetricReader()
    resource = Resource.create(
        {"service.name": "strategy-lab", "strategy_lab.run": profile.name}
        | {"strategy_lab.status": profile.status.state}
    )
    provider = MeterProvider([reader], resource, shutdown_on_exit=False)
    meter = provider.get_meter("strategy_lab")
    for item in segments:
        about = {"segment": item.segment.segment, "strategy": item.segment.strategy}
        for metric in item.metrics:
            gauge = meter.create_gauge(f"strategy_lab.{metric.name}", metric.unit)
            gauge.set(metric.value, about | {"num_replicas": item.segment.num_replicas})
    exporter = OTLPMetricExporter(endpoint=endpoint, timeout=TIMEOUT_S)
    # It logs why it failed, and returns only that it did.
    said = _ExporterLog()
    logger = logging.getLogger("opentelemetry.exporter.otlp.proto.http.metric_exporter")
    logger.addHandler(said)
    try:
        result = exporter.export(reader.get_metrics_data())
    finally:
        logger.removeHandler(said)
        exporter.shutdown()
        provider.shutdown()
    if result is not MetricExportResult.SUCCESS:
        why = f": {said.lines[-1]}" if said.lines else ""
        raise LabError(
            f"The collector at {endpoint} did not take the metrics{why}",
            advice="Check that it receives OTLP over HTTP there",
        )
    return endpoint


def _endpoint(address: str) -> str:
    """The address for metrics; a collector's base address gets the standard path."""
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise LabError(
            f"{address} is not the address of a collector",
            advice="Give its OTLP endpoint for HTTP, such as http://127.0.0.1:4318",
        )
    path = parts.path if parts.path not in ("", "/") else _PATH
    return parts._replace(path=path).geturl()


class _ExporterLog(logging.Handler):
    """Keeps what the exporter logs."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(" ".join(record.getMessage().split())[:300])


EXTRA = Extra("otlp", "opentelemetry.exporter.otlp.proto.http", "export --format otlp")
DESTINATION = Destination(
    name="otlp",
    title="OpenTelemetry",
    description="key numbers as OpenTelemetry metrics, to a collector's HTTP endpoint",
    send=_send,
    extra=EXTRA,
)
