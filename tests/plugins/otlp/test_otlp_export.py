"""An OTLP receiver, made of OpenTelemetry's own messages, gets the key numbers of a run."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)

import strategy_profiles
from strategy_core.cli.main import main
from strategy_profiles.exports.key_metrics import segment_metrics
from strategy_profiles.extras import Extra
from tests.synthetic import HOSTILE, write_run


class Receiver(ThreadingHTTPServer):
    """Answers as a collector does, and keeps what came."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[tuple[str, ExportMetricsServiceRequest]] = []
        self.status = 200

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        self.server.requests.append((self.path, ExportMetricsServiceRequest.FromString(body)))
        self.send_response(self.server.status)
        self.send_header("content-type", "application/x-protobuf")
        self.end_headers()
        self.wfile.write(ExportMetricsServiceResponse().SerializeToString())

    def log_message(self, format: str, *args: Any) -> None:
        pass


Numbers = dict[tuple[str, int], tuple[float, str]]
"""Value and unit by the gauge's name and the segment."""


def gauges(request: ExportMetricsServiceRequest) -> Numbers:
    """The numbers that a collector or its backend got."""
    points = {}
    for metric in request.resource_metrics[0].scope_metrics[0].metrics:
        for point in metric.gauge.data_points:
            labels = {item.key: item.value for item in point.attributes}
            points[metric.name, labels["segment"].int_value] = (point.as_double, metric.unit)
    return points


def numbers_of_run(run: Path) -> Numbers:
    """The key numbers that the lab shows of a run."""
    return {
        (f"strategy_lab.{metric.name}", item.segment.segment): (metric.value, metric.unit)
        for item in segment_metrics(strategy_profiles.load(run))
        for metric in item.metrics
    }


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.mark.slow
def test_a_collector_gets_every_key_number_of_every_segment(
    tmp_path: Path, receiver: Receiver, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path / "run", segments=2, steps=80, straggler=(1, 30.0))
    assert main(["export", str(run), "--format", "otlp", "-o", receiver.address]) == 0
    assert capsys.readouterr().out == f"{receiver.address}/v1/metrics\n"
    ((path, request),) = receiver.requests
    assert path == "/v1/metrics"
    (resource,) = request.resource_metrics
    about = {item.key: item.value.string_value for item in resource.resource.attributes}
    assert about["service.name"] == "strategy-lab"
    assert about["strategy_lab.run"] == "run"
    received = gauges(request)
    assert received == numbers_of_run(run)
    assert received["strategy_lab.step_time_ms", 0][1] == "ms"


def test_hostile_names_arrive_as_they_are(tmp_path: Path, receiver: Receiver) -> None:
    run = write_run(tmp_path / "a b<c>", prefix=HOSTILE, windows=0, marks=False)
    assert main(["export", str(run), "--format", "otlp", "-o", f"{receiver.address}/own/path"]) == 0
    ((path, request),) = receiver.requests
    assert path == "/own/path"
    names = {item.name for item in request.resource_metrics[0].scope_metrics[0].metrics}
    assert "strategy_lab.step_time_ms" in names
    assert "strategy_lab.busbw_gbps" not in names  # not captured: missing, not 0


@pytest.mark.parametrize("address", ["runs/folder", "ftp://host", "http://"])
def test_an_invalid_address_is_refused_in_a_sentence(
    tmp_path: Path, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path / "run", steps=40)
    assert main(["export", str(run), "--format", "otlp", "-o", address]) == 2
    assert "is not the address of a collector" in capsys.readouterr().err


def test_a_collector_that_refuses_and_a_run_without_numbers_are_sentences(
    tmp_path: Path, receiver: Receiver, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path / "run", steps=40)
    receiver.status = 403
    assert main(["export", str(run), "--format", "otlp", "-o", receiver.address]) == 2
    errors = capsys.readouterr().err
    assert "did not take the metrics" in errors
    assert "403" in errors or "Forbidden" in errors
    (tmp_path / "none").mkdir()
    assert main(["export", str(tmp_path / "none"), "--format", "otlp", "-o", "http://h"]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_without_the_extra_the_verb_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Extra, "is_installed", False)
    run = write_run(tmp_path / "run", steps=40)
    assert main(["export", str(run), "--format", "otlp", "-o", "http://127.0.0.1:1"]) == 2
    assert "pip install 'strategy-lab[otlp]'" in capsys.readouterr().err
