"""Programs find the lab that runs for their folder of runs, and only the user can read how."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from strategy_core.cli import _live
from strategy_core.processes.running_labs import address_of, registered

ADDRESS = "http://127.0.0.1:8501/?token=secret"


@pytest.fixture(autouse=True)
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of such files."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path / "strategy-lab"


def test_a_lab_is_found_by_its_folder_while_it_runs(tmp_path: Path, runtime: Path) -> None:
    with registered(tmp_path / "runs", ADDRESS):
        assert address_of(tmp_path / "other" / ".." / "runs") == ADDRESS
        assert address_of(tmp_path / "elsewhere") is None
        (file,) = runtime.iterdir()
        assert (file.stat().st_mode & 0o777, runtime.stat().st_mode & 0o777) == (0o600, 0o700)
    assert address_of(tmp_path / "runs") is None


def test_the_file_of_a_lab_that_was_killed_is_removed(tmp_path: Path, runtime: Path) -> None:
    with registered(tmp_path / "runs", ADDRESS):
        (file,) = runtime.iterdir()
        file.write_text(json.dumps(json.loads(file.read_text()) | {"started_ns": 1}))
        assert address_of(tmp_path / "runs") is None
        assert not file.exists()


@pytest.mark.parametrize("damaged", ["", "[]", "{}", '{"pid": "x", "started_ns": {}}', "\xff"])
def test_a_damaged_file_is_no_lab(tmp_path: Path, runtime: Path, damaged: str) -> None:
    with registered(tmp_path / "runs", ADDRESS):
        (file,) = runtime.iterdir()
        file.write_bytes(damaged.encode("latin-1"))
        assert address_of(tmp_path / "runs") is None


def test_the_live_page_is_that_of_the_lab_that_runs_already(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CI", "1")  # no browser
    monkeypatch.delattr(_live, "start_server")
    with registered(tmp_path / "runs", ADDRESS):
        _live.open_live_page(tmp_path / "runs" / "mine")
    assert capsys.readouterr().err == f"strategy-lab: live at {ADDRESS}&run=mine\n"


def test_the_address_of_a_new_server_is_said_to_answer_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A click on it before that is refused: the server starts beside the program."""
    monkeypatch.setenv("CI", "1")  # no browser
    monkeypatch.setattr(_live, "start_server", lambda *_asked: ADDRESS)
    _live.open_live_page(tmp_path / "runs" / "mine")
    said = capsys.readouterr().err
    assert said.startswith(f"strategy-lab: live at {ADDRESS}&run=mine (once its server has started")
