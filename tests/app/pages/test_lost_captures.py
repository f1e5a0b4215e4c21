"""What pages say of a run whose captures hold no op, or cannot be read."""

from __future__ import annotations

from pathlib import Path

from tests.app.looking import open_page, text_of
from tests.synthetic import write_run

_NO_CAPTURE = "no step of this segment was captured"


def test_a_reason_with_an_apostrophe_is_shown_without_backslashes(tmp_path: Path) -> None:
    write_run(tmp_path / "run", steps=200, marks=False, missing=("replica_steps", "merged"))
    text = text_of(open_page("communication", tmp_path, run="run"))
    assert r"no op of a replica\'s graph" in text  # Streamlit's Markdown shows an escape as one '
    assert _NO_CAPTURE not in text


def test_lost_captures_are_not_said_to_be_missing(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=200, marks=False, checksums=True, missing=("merged",))
    for file in run.rglob("replica_steps.parquet"):
        file.unlink()
    for page in ("overview", "communication"):
        text = text_of(open_page(page, tmp_path, run="run"))
        assert "the files of its captured steps are damaged or missing" in text, page
        assert _NO_CAPTURE not in text, page
        assert "no op of a replica" not in text, page
        assert "capture every step" not in text, page
