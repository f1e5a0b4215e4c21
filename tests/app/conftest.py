"""Pages under test have no browser that would need a head start."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _no_head_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.parts.verdict.PAINT_S", 0.0)
