"""Without MLflow's packages: with them, `make test-mlflow` runs mlflow_check.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from strategy_core.cli.main import main
from strategy_profiles.extras import Extra
from tests.synthetic import write_run


def test_without_the_extra_the_verb_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Extra, "is_installed", False)
    run = write_run(tmp_path / "run", steps=40)
    assert main(["export", str(run), "--format", "mlflow", "-o", "http://127.0.0.1:1"]) == 2
    assert "pip install 'strategy-lab[mlflow]'" in capsys.readouterr().err
