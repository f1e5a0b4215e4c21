"""One Parquet file per table: exactly the columns and types of `profiles.tables.schema`."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from strategy_lab.profiles.exports.format import Format
from strategy_lab.profiles.tables.schema import TABLES
from strategy_lab.profiles.tables.store import Profile


def _write(profile: Profile, folder: Path) -> None:
    folder.mkdir()
    for name in TABLES:
        pq.write_table(profile.table(name), folder / f"{name}.parquet", compression="zstd")


FORMAT = Format(
    name="parquet",
    title="Parquet",
    description="One file per table, typed and compressed: for DuckDB, pandas, Polars, Spark.",
    suffix="",
    media_type="application/zip",
    write=_write,
)
