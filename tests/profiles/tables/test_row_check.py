"""A table read from a Parquet file has the columns, types and ranges of its schema."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import strategy_profiles
from strategy_profiles.tables.parquet_tables import read_table
from strategy_profiles.tables.row_check import fitting_rows
from strategy_profiles.tables.schema import COLUMNS, MOST_OTHER_ROWS, TABLES
from tests.synthetic import write_run

Change = Callable[[pa.Table], pa.Table]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("tables") / "run"
    write_run(run, steps=16, replicas=2, windows=1, window_steps=3, contexts=True)
    return run


def with_column(name: str, values: list[object] | pa.Array) -> Change:
    def change(table: pa.Table) -> pa.Table:
        column = values if isinstance(values, pa.Array) else pa.array(values * table.num_rows)
        return table.set_column(table.column_names.index(name), name, column[: table.num_rows])

    return change


def first(name: str, value: object) -> Change:
    """The value in the first row alone."""

    def change(table: pa.Table) -> pa.Table:
        column = table[name].to_pylist()
        column[0] = value
        kind = table.schema.field(name).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        return with_column(name, pa.array(column, kind))(table)

    return change


def not_utf8(rows: int) -> pa.Array:
    raw = pa.array([b"\xff\xfe"] * rows, pa.binary())
    return pa.Array.from_buffers(pa.string(), rows, raw.buffers())


def repeated(rows: int) -> Change:
    return lambda table: table.slice(0, 1).take(pa.array(np.zeros(rows, np.int8)))


LEFT_OUT_ROWS: dict[str, tuple[str, Change, str]] = {
    "a negative length": ("replica_steps", first("wall_ms", -1.0), "1 row with wall_ms below 0"),
    "an infinite length": ("replica_steps", first("wall_ms", np.inf), "1 row with wall_ms not fi"),
    "NaN": ("collectives", first("wait_ms", np.nan), "1 row with wait_ms not finite"),
    "a length of years": ("spans", first("duration_ns", 2**62), "1 row with duration_ns above"),
    "a replica that cannot be": ("spans", first("replica", 2**31 - 1), "1 row with replica above"),
    "a negative worker": ("transfers", first("worker", -1), "1 row with worker below 0"),
    "a missing step": ("replica_steps", first("step", None), "1 row with step missing"),
    "a long name": ("spans", first("name", "x" * 5000), "1 row with name longer than 4,096"),
    "a time before 1970": ("spans", first("start_ns", -1), "1 row with start_ns below 0"),
    "rows twice": (
        "replica_steps",
        lambda table: pa.concat_tables([table, table]),
        "6 rows that are there already",
    ),
}
LEFT_OUT_FILES: dict[str, tuple[str, Change, str]] = {
    "a column twice": (
        "replica_steps",
        lambda table: table.append_column("wall_ms", table["wall_ms"]),
        "has the column wall_ms 2 times",
    ),
    "no column of steps": (
        "collectives",
        lambda table: table.drop_columns(["step"]),
        "has no column step",
    ),
    "numbers as text": ("spans", with_column("replica", ["1"]), "has replica as string, not int32"),
    "text as numbers": ("spans", with_column("name", [1]), "has name as int64, not dictionary"),
    "lists": ("spans", with_column("start_ns", [[1]]), "has start_ns as list"),
    "fractions": ("spans", with_column("start_ns", [0.5]), "has start_ns as double, not int64"),
    "booleans": ("placement", with_column("device", [True]), "has device as bool, not string"),
    "numbers beyond the type": ("spans", with_column("worker", [2**40]), "cannot be read (Integer"),
    "no UTF-8": (
        "placement",
        with_column("op", not_utf8(100)),
        "cannot be read (Column 4: In chunk",
    ),
    "rows without number": (
        "replica_steps",
        repeated(MOST_OTHER_ROWS + 1),
        "has 1,000,001 rows, more than 1,000,000",
    ),
}


def changed(run: Path, name: str, change: Change) -> tuple[Path, pa.Table]:
    """The table's first file, changed, and what it held before."""
    file = next(iter(sorted(run.rglob(f"{name}*.parquet"))))
    table = pq.read_table(file)
    pq.write_table(change(table), file)
    return file, table


@pytest.fixture
def run(sound: Path, tmp_path: Path) -> Path:
    return shutil.copytree(sound, tmp_path / "run")


@pytest.mark.parametrize("damage", LEFT_OUT_ROWS)
def test_rows_that_do_not_fit_are_left_out_and_counted(damage: str, run: Path) -> None:
    name, change, said = LEFT_OUT_ROWS[damage]
    file, table = changed(run, name, change)
    profile = strategy_profiles.load(run)
    read = profile.table(name)
    is_repeat = damage == "rows twice"
    assert read.num_rows == table.num_rows - (0 if is_repeat else 1)
    (note,) = profile.notes
    assert note.startswith(f"{file.name} in {file.parent.name}: {said}")


@pytest.mark.parametrize("damage", LEFT_OUT_FILES)
def test_files_of_another_form_are_left_out_and_named(damage: str, run: Path) -> None:
    name, change, said = LEFT_OUT_FILES[damage]
    file, _ = changed(run, name, change)
    profile = strategy_profiles.load(run)
    assert profile.table(name).equals(TABLES[name].empty_table())
    (note,) = profile.notes
    assert note.startswith(f"{file.name} in {file.parent.name} {said}")
    profile.summary()


def test_a_footer_of_millions_of_row_groups_is_not_parsed(run: Path) -> None:
    file = next(run.rglob("spans.parquet"))
    data = file.read_bytes()
    file.write_bytes(data[:-8] + (5 << 20).to_bytes(4, "little") + data[-4:])
    profile = strategy_profiles.load(run)
    assert profile.table("spans").num_rows == 0
    assert "has a footer of 5,242,880 bytes, more than 4,194,304" in profile.notes[0]


def test_a_column_that_may_be_missing_is_null_and_noted(run: Path) -> None:
    changed(run, "spans", lambda table: table.drop_columns(["thread", "op"]))
    profile = strategy_profiles.load(run)
    assert profile.table("spans")["thread"].null_count == profile.table("spans").num_rows > 0
    assert "the column op, thread, which it does not have" in profile.notes[0]


def test_other_encodings_of_the_same_values_are_read(run: Path) -> None:
    before = strategy_profiles.load(run).table("spans")
    types = {pa.int32(): pa.int64(), TABLES["spans"].field("name").type: pa.string()}
    wide = pa.schema([(item.name, types.get(item.type, item.type)) for item in TABLES["spans"]])
    changed(run, "spans", lambda table: table.cast(wide))
    profile = strategy_profiles.load(run)
    assert profile.table("spans").to_pylist() == before.to_pylist()
    assert profile.notes == ()


@pytest.mark.parametrize("damage", ["pipe", "folder", "link", "loop", "device"])
def test_what_is_no_file_is_noted_and_not_waited_for(damage: str, run: Path) -> None:
    file = next(run.rglob("spans.parquet"))
    file.unlink()
    match damage:
        case "pipe":
            os.mkfifo(file)
        case "folder":
            file.mkdir()
        case _:
            target = {"link": "nowhere", "loop": file.name, "device": "/dev/zero"}[damage]
            file.symlink_to(target)
    profile = strategy_profiles.load(run)
    assert profile.table("spans").num_rows == 0
    assert profile.notes == ("spans.parquet in window-000000 is not a file: left out of spans",)


def test_a_flipped_bit_in_a_page_with_a_checksum_is_noticed(run: Path) -> None:
    file = next(run.rglob("replica_steps.parquet"))
    table = pq.read_table(file)
    options = {"compression": "none", "use_dictionary": False, "write_page_checksum": True}
    pq.write_table(table, file, **options)
    data = bytearray(file.read_bytes())
    at = data.find(np.float64(table["wall_ms"][0].as_py()).tobytes())
    data[at + 5] ^= 1
    file.write_bytes(data)
    profile = strategy_profiles.load(run)
    assert profile.table("replica_steps").num_rows == 0
    assert "cannot be read (could not verify page integrity" in profile.notes[0]


def test_every_table_of_a_sound_run_fits_its_schema(sound: Path) -> None:
    profile = strategy_profiles.load(sound)
    for name in TABLES:
        table = profile.table(name)
        assert fitting_rows(name, table) == (table, [])
    assert profile.notes == ()


def test_the_schema_names_every_column_once() -> None:
    for name, columns in COLUMNS.items():
        names = [column.name for column in columns]
        assert len(set(names)) == len(names), name


def test_files_of_a_table_are_read_together(sound: Path) -> None:
    file = str(next(sound.rglob("spans.parquet")))
    notes: list[str] = []
    assert (
        read_table("spans", [file, file], notes.append).num_rows
        == 2 * pq.read_metadata(file).num_rows
    )
    assert not notes
