"""Copies of 16 windows: they give the rows of the windows, or are not read."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from strategy_profiles.tables import parquet_tables
from strategy_profiles.tables.merged_windows import merge_windows
from strategy_profiles.tables.schema import WINDOW_TABLES
from strategy_profiles.tables.store import Profile
from tests.synthetic import write_run

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("runs") / "run", steps=200, windows=17, checksums=True)


@pytest.fixture
def run(written: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(written, tmp_path / "run"))


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The windows' own files that were read."""
    files: list[Path] = []
    content_of = parquet_tables.content_of

    def recording(path: Path) -> bytes | Path:
        files.append(path)
        return content_of(path)

    monkeypatch.setattr(parquet_tables, "content_of", recording)
    return files


def _rows(run: Path) -> dict[str, object]:
    profile = Profile.load(run)
    tables: dict[str, object] = {name: profile.table(name).to_pylist() for name in WINDOW_TABLES}
    assert profile.notes == ()
    return tables


def _copy(run: Path, table: str) -> Path:
    return run / "worker-0-0" / "merged-000000" / f"{table}.parquet"


def test_copies_have_the_rows_of_the_windows_and_are_read_instead(
    run: Path, opened: list[Path]
) -> None:
    with_copies = _rows(run)
    assert {path.parent.name for path in opened} == {"window-000016"}
    shutil.rmtree(run / "worker-0-0" / "merged-000000")
    assert _rows(run) == with_copies


@pytest.mark.parametrize("file", ["spans.parquet", "index.json"])
@pytest.mark.parametrize("damage", ["flip", "cut", "folder", "deleted", "no text"])
def test_a_damaged_copy_changes_no_row(written: Path, run: Path, file: str, damage: str) -> None:
    path = run / "worker-0-0" / "merged-000000" / file
    content = path.read_bytes()
    middle = len(content) // 2
    if damage == "flip":
        path.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
    elif damage == "cut":
        path.write_bytes(content[:middle])
    elif damage == "no text":
        path.write_bytes(b'{"\xdd\xdd"' + content[1:])
    else:
        path.unlink()
        if damage == "folder":
            path.mkdir()
    assert _rows(run) == _rows(written)


def test_a_window_that_is_missing_is_noted_although_a_copy_has_it(run: Path) -> None:
    shutil.rmtree(run / "worker-0-0" / "window-000003")
    profile = Profile.load(run)
    assert any("window-000003 are missing" in note for note in profile.notes)
    assert len(set(profile.table("replica_steps")["step"].to_pylist())) == 16 * 10


def test_a_copy_of_other_files_is_not_read(written: Path, run: Path, tmp_path: Path) -> None:
    other = write_run(tmp_path / "other", steps=200, windows=17, checksums=True, seed=7)
    for name in ("spans.parquet", "index.json"):
        shutil.copy(other / "worker-0-0" / "merged-000000" / name, _copy(run, "spans").parent)
    assert _rows(run) == _rows(written)


def test_windows_that_failed_are_left_out_of_the_copy(run: Path) -> None:
    worker = run / "worker-0-0"
    shutil.rmtree(worker / "merged-000000")
    shutil.rmtree(worker / "window-000003")
    merge_windows(worker / "window-000015")
    assert pq.read_metadata(_copy(run, "replica_steps")).num_rows == 15 * 10 * 4


def test_a_group_of_windows_is_merged_when_its_last_one_is_complete(run: Path) -> None:
    worker = run / "worker-0-0"
    shutil.rmtree(worker / "merged-000000")
    for number in (*range(15), 16):
        merge_windows(worker / f"window-{number:06d}")
    assert not list(worker.glob("*merged*"))
    merge_windows(worker / "window-000015")
    assert [path.name for path in worker.glob("*merged*")] == ["merged-000000"]
