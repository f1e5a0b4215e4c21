"""Every demonstration has its notebook, up to date, and each one runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from strategy_contexts.course import demonstration
from strategy_contexts.demonstrations import COURSE
from strategy_contexts.notebook import as_text

FOLDER = Path(__file__).parents[3] / "plugins" / "contexts" / "notebooks"


@pytest.mark.parametrize("name", COURSE)
def test_the_notebook_is_the_demonstration(name: str) -> None:
    kept = (FOLDER / f"{name}.ipynb").read_text(encoding="utf-8")
    assert kept == as_text(demonstration(name)), "renew: python -m strategy_contexts.notebook"


@pytest.mark.tf
@pytest.mark.parametrize("name", COURSE)
def test_the_notebook_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))
    monkeypatch.chdir(tmp_path)
    scope: dict[str, Any] = {}
    for number, cell in enumerate(document["cells"]):
        if cell["cell_type"] == "code":
            # Like Jupyter, each cell is a file, so that lines and AutoGraph can be found.
            file = tmp_path / f"cell_{number}.py"
            file.write_text("".join(cell["source"]), encoding="utf-8")
            exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), scope)
    assert ": " in capsys.readouterr().out, "the switches are listed"
