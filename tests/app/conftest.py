"""Pages under test have no browser that would need a head start, and a launcher of the test's."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from streamlit.components.v2 import manifest_scanner

from strategy_lab.app.server import state


@pytest.fixture(autouse=True)
def _no_head_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("strategy_lab.app.widgets.verdict.PAINT_S", 0.0)


@pytest.fixture(scope="session", autouse=True)
def _one_scan() -> Iterator[None]:
    """Every `AppTest` reads the metadata of all installed packages, 0.2 s: once is enough."""
    scan = "scan_component_manifests"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, scan, cache(getattr(manifest_scanner, scan)))
        yield


@pytest.fixture
def lab(tmp_path: Path, launcher: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The runs folder of a lab with the module's own `launcher`."""
    configure = state.configure
    monkeypatch.setattr(state, "configure", lambda runs: configure(runs, launcher=launcher))
    return tmp_path
