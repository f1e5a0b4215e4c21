"""Single columns of a table have the rows of the whole table, whatever became of the copies."""

from __future__ import annotations

import shutil
import zlib
from collections import Counter
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from strategy_profiles import load
from strategy_profiles.tables import merged_windows, parquet_tables
from strategy_profiles.tables.recorded import checksum
from strategy_profiles.tables.row_check import rules_of
from strategy_profiles.tables.schema import TABLES
from strategy_profiles.tables.store import Profile
from strategy_profiles.timeline import Timeline, lay_out
from tests.synthetic import write_run

pytestmark = pytest.mark.slow

STEPS = (15, 16, 250, 399)
COLUMNS = ("op", "device", "duration_ns", "replica")
BY_OP = "select op, count(*), sum(duration_ns) from spans group by 1 order by all"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    return write_run(folder, steps=400, windows=33, checksums=True, ops_per_step=5)


@pytest.fixture
def run(written: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(written, tmp_path / "run"))


def _group(run: Path, number: int = 0) -> Path:
    return run / "worker-0-0" / f"merged-{number:06d}"


def _rows(table: pa.Table) -> list[dict[str, object]]:
    return table.to_pylist()


def _check_columns(run: Path, columns: tuple[str, ...] = COLUMNS) -> None:
    """Check single columns, and what reads them, against the whole table."""
    whole, single = Profile.load(run), Profile.load(run)
    table = whole.table("spans").select(list(columns))
    assert _rows(single.columns("spans", columns)) == _rows(table)
    parts = Profile.load(run).parts("spans", columns, _rows)
    assert [row for part in parts for row in part] == _rows(table)
    assert set(single.notes) == set(whole.notes)
    of_steps = Profile.load(run).parts("spans", columns, _rows, STEPS)
    is_wanted = pc.is_in(whole.table("spans")["step"], pa.array(STEPS, pa.int64()))
    assert [row for part in of_steps for row in part] == _rows(table.filter(is_wanted))
    _check_timelines_are_equal(lay_out(Profile.load(run)), lay_out(whole))  # of the table in memory
    by_plan, by_table = load(run), load(run)
    by_table.table("spans")
    assert by_plan.sql(BY_OP).equals(by_table.sql(BY_OP))


def _check_timelines_are_equal(one: Timeline, other: Timeline) -> None:
    assert one.tracks == other.tracks
    assert (one.names, one.ops, one.categories) == (other.names, other.ops, other.categories)
    for name in ("row_starts", "start", "end", "step", "name", "op", "category", "_thread"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist(), name


@given(
    options=st.fixed_dictionaries(
        {
            "replicas": st.sampled_from([1, 2, 4]),
            "windows": st.sampled_from([1, 17, 33]),
            "ops_per_step": st.integers(1, 4),
            "seed": st.integers(0, 1000),
            "checksums": st.booleans(),
            "strategy": st.sampled_from(["mirrored", "central-storage"]),
            "segments": st.sampled_from([1, 2]),
        }
    ),
    columns=st.lists(st.sampled_from(TABLES["spans"].names), min_size=1, unique=True),
)
@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
def test_columns_of_any_run_have_the_rows_of_its_table(
    tmp_path_factory: pytest.TempPathFactory, options: dict[str, object], columns: list[str]
) -> None:
    run = write_run(tmp_path_factory.mktemp("any") / "run", steps=400, window_steps=3, **options)
    _check_columns(run, tuple(columns))


def test_a_copy_that_was_checked_is_read_instead_of_the_windows(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    content_of = parquet_tables.content_of

    def recording(path: Path) -> bytes | Path:
        opened.append(path.parent.name)
        return content_of(path)

    monkeypatch.setattr(parquet_tables, "content_of", recording)
    Profile.load(run).columns("spans", COLUMNS)
    assert opened == ["window-000032"]  # no copy has the last window


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The columns that were read of copies."""
    read: list[tuple[str, ...]] = []
    read_columns = merged_windows.read_columns

    def recording(name: str, content: object, num_rows: int, only: tuple[str, ...] = ()) -> object:
        read.append(tuple(only))
        return read_columns(name, content, num_rows, only or None)

    monkeypatch.setattr(merged_windows, "read_columns", recording)
    return read


def test_a_copy_without_a_wanted_step_is_not_opened(run: Path, read: list[tuple[str, ...]]) -> None:
    steps = Profile.load(run).columns("spans", ("step",))["step"].to_pylist()
    read.clear()
    parts = Profile.load(run).parts("spans", COLUMNS, len, {max(steps[:100])})
    assert sum(parts) > 0
    assert read == [(*COLUMNS, "step")]


def test_of_copies_of_an_earlier_version_only_the_steps_are_read(
    run: Path, read: list[tuple[str, ...]]
) -> None:
    steps = Profile.load(run).columns("spans", ("step",))["step"].to_pylist()
    read.clear()
    _without_counts(run)
    parts = Profile.load(run).parts("spans", COLUMNS, len, {max(steps[:100])})
    assert sum(parts) > 0
    assert sorted(read) == [(*COLUMNS, "step"), ("step",), ("step",)]
    _check_columns(run)


def _without_counts(run: Path) -> None:
    """Make the indexes those of a version that did not count rows by step."""
    for path in run.glob("worker-0-0/merged-*/index.json"):
        index = msgspec.json.decode(path.read_bytes())
        spans = index["spans"]
        del spans["steps"]
        spans["fits"] = zlib.crc32(f"spans {rules_of('spans')} {spans['crc32']}".encode())
        path.write_bytes(msgspec.json.encode(index))


@pytest.mark.parametrize("is_counted", [True, False])
def test_the_rows_of_each_step_are_those_of_the_table(
    run: Path, read: list[tuple[str, ...]], is_counted: bool
) -> None:
    if not is_counted:
        _without_counts(run)
    table = Profile.load(run).table("spans")
    read.clear()
    counted = Profile.load(run).rows_by_step("spans")
    assert counted == Counter(zip(*_keys(table), strict=True))
    assert read == ([] if is_counted else [("segment", "step")] * 2)
    whole = Profile.load(run)
    whole.table("spans")
    assert whole.rows_by_step("spans") == counted


def _keys(table: pa.Table) -> list[list[int]]:
    return [table[name].to_pylist() for name in ("segment", "step")]


def test_an_index_with_wrong_numbers_of_rows_is_not_believed(run: Path) -> None:
    path = _group(run) / "index.json"
    index = msgspec.json.decode(path.read_bytes())
    index["spans"]["steps"] = index["spans"]["steps"][1:]
    path.write_bytes(msgspec.json.encode(index))
    table = Profile.load(run).table("spans")
    counted = Profile.load(run).rows_by_step("spans")
    assert counted == Counter(zip(*_keys(table), strict=True))
    _check_columns(run)


@pytest.mark.parametrize("file", ["spans.parquet", "index.json"])
@pytest.mark.parametrize("damage", ["flip", "cut", "deleted"])
def test_a_damaged_copy_changes_no_column(run: Path, file: str, damage: str) -> None:
    path = _group(run, 16) / file
    content = path.read_bytes()
    middle = len(content) // 2
    flipped = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
    if damage == "deleted":
        path.unlink()
    else:
        path.write_bytes(flipped if damage == "flip" else content[:middle])
    _check_columns(run)


@pytest.mark.parametrize("fits", [0, 12345, None])
def test_a_copy_of_which_the_index_does_not_prove_that_it_fits_is_checked(
    run: Path, fits: int | None
) -> None:
    """Here a row that does not fit is in the record itself, and in the copy."""
    _spoil(run, fits)
    _check_columns(run)
    notes = Profile.load(run)
    notes.columns("spans", ("op",))
    assert any("replica below 0" in note for note in notes.notes)


def _spoil(run: Path, fits: int | None) -> None:
    """Put a negative replica into a window and its copy; `fits` None keeps what its index says."""
    folder = _group(run)
    index = msgspec.json.decode((folder / "index.json").read_bytes())
    events = run / "worker-0-0" / "events.jsonl"
    for path in (folder / "spans.parquet", folder.parent / "window-000000" / "spans.parquet"):
        table = pq.read_table(path)
        replica = table["replica"].to_pylist()
        replica[0] = -5
        place = table.schema.get_field_index("replica")
        spoilt = table.set_column(place, table.schema.field(place), pa.array(replica, pa.int32()))
        before = checksum(path)
        pq.write_table(spoilt, path)
        events.write_text(_retold(events.read_text(), before, checksum(path)))
        if path.parent == folder:
            index["spans"]["crc32"] = checksum(path)
        else:
            index["spans"]["windows"]["window-000000"] = checksum(path)
    if fits is not None:
        index["spans"]["fits"] = fits
    (folder / "index.json").write_bytes(msgspec.json.encode(index))


def _retold(lines: str, before: int, after: int) -> str:
    """Replace a checksum in the events; a line's own checksum is left out."""
    changed = []
    for line in lines.splitlines():
        event = msgspec.json.decode(line.replace(f'"crc32":{before}', f'"crc32":{after}'))
        event.pop("line_crc32", None)
        changed.append(msgspec.json.encode(event).decode())
    return "\n".join(changed) + "\n"
