"""Parquet: exactly the schema's columns and types, and the same values."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow.parquet as pq

import strategy_profiles
from strategy_profiles.exports import write
from strategy_profiles.tables.schema import TABLES
from tests.synthetic import write_run


def test_every_table_is_exported_with_exactly_its_schema(straggling, target: Path) -> None:
    write(straggling, "parquet", target)
    assert {path.name for path in target.iterdir()} == {f"{name}.parquet" for name in TABLES}
    for name, schema in TABLES.items():
        read = pq.read_table(target / f"{name}.parquet")
        assert read.schema.equals(schema, check_metadata=False), name
        assert read.to_pylist() == straggling.table(name).to_pylist()


def test_duckdb_reads_exported_tables(straggling, target: Path) -> None:
    write(straggling, "parquet", target)
    query = f"select median(compute_ms) from '{target}/replica_steps.parquet' where replica = 2"
    with duckdb.connect() as connection:
        (compute,) = connection.execute(query).fetchone()
    assert 49 < compute < 51


def test_a_run_whose_number_of_replicas_changed_is_written(tmp_path: Path) -> None:
    profile = strategy_profiles.load(write_run(tmp_path / "run", steps=20, replicas=4, segments=2))
    target = write(profile, "parquet", tmp_path / "tables")
    marks = pq.read_table(target / "marks.parquet")
    assert marks.num_rows == profile.table("marks").num_rows > 0
