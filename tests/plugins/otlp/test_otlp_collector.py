"""A real OpenTelemetry collector takes the key numbers of a run, and passes all of them on.

The collector is Rotel (https://rotel.dev), which comes as a wheel with its program in it.
"""

from __future__ import annotations

import importlib.util
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from strategy_app.server.asgi_app import free_port
from strategy_core.cli.main import main
from tests.plugins.otlp.test_otlp_export import Receiver, gauges, numbers_of_run
from tests.synthetic import write_run
from tests.timeouts import wait_until

pytestmark = pytest.mark.run


@pytest.fixture
def backend() -> Iterator[Receiver]:
    """Where the collector passes on what it takes."""
    with Receiver() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def collector(backend: Receiver, tmp_path: Path) -> Iterator[str]:
    """The address of a collector for OTLP over HTTP."""
    package = importlib.util.find_spec("rotel")
    assert package is not None
    assert package.origin is not None
    program = Path(package.origin).with_name("rotel-agent")
    port, unused = free_port("127.0.0.1", 0), free_port("127.0.0.1", 0)
    command = [str(program), "start", "--otlp-http-endpoint", f"127.0.0.1:{port}"]
    command += ["--otlp-grpc-endpoint", f"127.0.0.1:{unused}", "--exporter", "otlp"]
    command += ["--otlp-exporter-endpoint", backend.address, "--otlp-exporter-protocol", "http"]
    with (tmp_path / "collector.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=tmp_path)
    try:
        wait_until(lambda: process.poll() is not None or _listens(port))
        assert process.poll() is None, (tmp_path / "collector.log").read_text()
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(60)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_a_collector_passes_on_every_key_number_of_every_segment(
    tmp_path: Path, backend: Receiver, collector: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path / "run", segments=2, steps=80, straggler=(1, 30.0))
    assert main(["export", str(run), "--format", "otlp", "-o", collector]) == 0
    assert capsys.readouterr().out == f"{collector}/v1/metrics\n"
    wait_until(lambda: bool(backend.requests))
    ((_, request),) = backend.requests
    (resource,) = request.resource_metrics
    about = {item.key: item.value.string_value for item in resource.resource.attributes}
    assert (about["service.name"], about["strategy_lab.run"]) == ("strategy-lab", "run")
    assert gauges(request) == numbers_of_run(run)


def test_a_collector_that_has_no_such_path_is_a_sentence(
    tmp_path: Path, collector: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path / "run", steps=40)
    assert main(["export", str(run), "--format", "otlp", "-o", f"{collector}/elsewhere"]) == 2
    errors = capsys.readouterr().err
    assert "did not take the metrics" in errors
    assert "404" in errors or "Not Found" in errors
