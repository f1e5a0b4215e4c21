"""Pages under test have no browser that would need a head start, and a launcher of the test's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from strategy_lab.app.server import state


@pytest.fixture(autouse=True)
def _no_head_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("strategy_lab.app.widgets.verdict.PAINT_S", 0.0)


@pytest.fixture
def lab(tmp_path: Path, launcher: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The runs folder of a lab with the module's own `launcher`."""
    configure = state.configure
    monkeypatch.setattr(state, "configure", lambda runs: configure(runs, launcher=launcher))
    return tmp_path
