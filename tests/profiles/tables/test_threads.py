"""Windows with many rows are read in threads, of which none is the first to import pandas."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from strategy_profiles.tables import parquet_tables
from strategy_profiles.tables.store import Profile
from tests.synthetic import write_run

PROGRAM = """
import sys
from strategy_profiles.tables import threads

def work(_number):
    return "pandas" in sys.modules

threads.os.cpu_count = lambda: 2
print("pandas" in sys.modules, *threads.in_threads(work, [1, 2, 3]))
"""


@pytest.mark.slow
def test_pandas_is_imported_before_the_threads_begin() -> None:
    command = [sys.executable, "-c", PROGRAM]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ended.stdout.split() == ["False", "True", "True", "True"]


@pytest.mark.parametrize(
    ("checksums", "many_rows", "is_in_threads"),
    [(True, 10**6, False), (True, 1, True), (False, 10**6, True)],
    ids=["few rows", "many rows", "number of rows not recorded"],
)
def test_few_rows_are_read_without_threads(
    checksums: bool,
    many_rows: int,
    is_in_threads: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = write_run(tmp_path / "run", steps=60, windows=18, window_steps=1, checksums=checksums)
    readers: set[int] = set()
    content_of = parquet_tables.content_of

    def recording(path: Path) -> bytes | Path:
        readers.add(threading.get_ident())
        return content_of(path)

    monkeypatch.setattr(parquet_tables, "content_of", recording)
    monkeypatch.setattr(parquet_tables, "MANY_ROWS", many_rows)
    monkeypatch.setattr("strategy_profiles.tables.threads.os.cpu_count", lambda: 2)
    assert Profile.load(run).table("transfers").num_rows
    assert readers
    assert (threading.get_ident() not in readers) == is_in_threads
