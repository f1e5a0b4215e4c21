"""One Parquet file per table: exactly the columns and types of
`strategy_profiles.tables.schema`."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from strategy_profiles.exports.format import Format
from strategy_profiles.tables.schema import TABLES
from strategy_profiles.tables.store import Profile


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
