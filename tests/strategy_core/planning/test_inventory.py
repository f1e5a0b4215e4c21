"""The machine's devices are listed from any folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from strategy_core.planning.inventory import probe

pytestmark = [pytest.mark.tf, pytest.mark.run]


def test_a_project_may_have_a_module_of_the_labs_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "strategy_core.py").write_text("raise SystemExit('the module of the project')")
    monkeypatch.chdir(tmp_path)
    assert probe.__wrapped__().tensorflow
