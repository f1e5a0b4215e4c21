"""The page of TPU cores says what to do where a run has none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.looking import open_page, text_of
from tests.synthetic import write_run


def test_a_run_without_cores_says_so(tmp_path: Path) -> None:
    write_run(tmp_path / "plain", steps=20, windows=1)
    page = open_page("cores", tmp_path, run="plain")
    assert not page.exception
    assert "no TPU cores" in text_of(page)
    assert "Choose TPUStrategy in the Lab" in text_of(page)


def test_every_core_has_its_own_time(tmp_path: Path) -> None:
    write_run(tmp_path / "cores", strategy="tpu", replicas=2, cores_per_replica=3, step_ms=12.0)
    page = open_page("cores", tmp_path, run="cores")
    assert not page.exception
    rows = next(frame.value for frame in page.dataframe)
    assert list(zip(rows["replica"], rows["core"], strict=True)) == [
        (replica, core) for replica in (0, 1) for core in (0, 1, 2)
    ]
    for replica in (0, 1):
        first, second, third = rows[rows["replica"] == replica]["compute"]
        assert second == pytest.approx(first / 2)
        assert third == pytest.approx(first / 3)
