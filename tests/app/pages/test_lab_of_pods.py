"""The Lab page for a TPU on several hosts: asked for, drawn, refused where they share nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.app.looking import charts_of, open_page, rerun
from tests.app.pages.test_lab_page import PretendedLauncher, errors, press

pytestmark = pytest.mark.slow


@pytest.fixture
def launcher() -> PretendedLauncher:
    return PretendedLauncher()


def _texts(at: AppTest) -> list[str]:
    """What is written on the cores of the mesh."""
    drawn = charts_of(at)[0]
    return [text for trace in drawn["data"] for text in trace.get("text", ())]


def test_hosts_are_drawn_and_asked_for(lab: Path, launcher: PretendedLauncher) -> None:
    at = press(open_page("lab", lab), "TPUStrategy")
    texts = _texts(at)
    assert len(texts) == 8
    assert not any("host" in text for text in texts)
    assert "heartbeat" not in {item.key for item in at.number_input}
    at.number_input(key="cluster_hosts").set_value(2)
    texts = _texts(rerun(at))
    assert [sum(f"host {host}" in text for text in texts) for host in (0, 1)] == [4, 4]
    assert "heartbeat" in {item.key for item in at.number_input}
    assert "Host 1 / replica 4" in {item.label for item in at.slider}
    press(at, "Run")
    spec = launcher.launched[0].spec
    assert (spec.strategy, spec.workers, spec.devices) == ("tpu", 2, "cpu:8")


def test_cores_that_hosts_cannot_share_are_refused(lab: Path, launcher: PretendedLauncher) -> None:
    at = press(open_page("lab", lab), "TPUStrategy")
    at.number_input(key="cluster_hosts").set_value(3)
    press(at, "Run")
    assert "8 cores cannot be shared equally among 3 hosts" in errors(at)
    assert not launcher.launched


def test_another_strategy_has_no_hosts(lab: Path) -> None:
    at = press(open_page("lab", lab), "MirroredStrategy")
    assert "cluster_hosts" not in {item.key for item in at.number_input}
