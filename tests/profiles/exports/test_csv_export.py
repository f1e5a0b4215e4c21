"""CSV: every table, every row, text as it was, a missing value as nothing."""

from __future__ import annotations

import csv
from pathlib import Path

import strategy_profiles
from strategy_profiles.exports import write
from strategy_profiles.tables.schema import TABLES
from tests.synthetic import HOSTILE, write_run


def test_every_table_is_exported_with_its_columns_and_rows(straggling, target: Path) -> None:
    write(straggling, "csv", target)
    for name, schema in TABLES.items():
        with (target / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file)
        assert header == schema.names
        assert len(rows) == straggling.table(name).num_rows


def test_hostile_text_and_missing_values_come_back(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", replicas=2, steps=30, prefix=HOSTILE, nan_loss_from=5)
    profile = strategy_profiles.load(run)
    write(profile, "csv", tmp_path / "csv")
    with (tmp_path / "csv" / "spans.csv").open(encoding="utf-8", newline="") as file:
        names = [row["name"] for row in csv.DictReader(file)]
    assert names == profile.table("spans")["name"].to_pylist()
    with (tmp_path / "csv" / "steps.csv").open(encoding="utf-8", newline="") as file:
        losses = [row["loss"] for row in csv.DictReader(file)]
    assert losses[4] != ""
    assert losses[5] == ""
