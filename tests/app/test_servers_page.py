"""The page of parameter servers says what to do where a run has none."""

from __future__ import annotations

from pathlib import Path

from tests.app.looking import open_page, text_of
from tests.synthetic import write_run


def test_a_run_without_servers_says_so(tmp_path: Path) -> None:
    write_run(tmp_path / "plain", steps=20, windows=1)
    page = open_page("servers", tmp_path, run="plain")
    assert not page.exception
    assert "no parameter servers" in text_of(page)
    assert "Choose ParameterServerStrategy in the Lab" in text_of(page)
