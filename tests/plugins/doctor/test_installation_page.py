"""The page: what the installation lacks is listed first."""

from __future__ import annotations

from pathlib import Path

import pytest

from strategy_doctor import page
from strategy_doctor.check import missing, present
from tests.app.looking import open_page, rerun, text_of


def test_what_the_installation_lacks_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks = [
        present("python", "Python", "3.11.7"),
        missing("gpu", "GPU", "none", "runs on GPUs", "Install a driver"),
    ]
    monkeypatch.setattr(page, "examine", lambda _: iter(checks))
    at = open_page("doctor", tmp_path)
    assert "strategy-lab doctor" in text_of(at)
    at.button(key="check_installation").click()
    rerun(at)
    table = at.dataframe[0].value
    assert list(table["title"]) == ["GPU", "Python"]
    assert list(table["advice"]) == ["Install a driver", ""]
