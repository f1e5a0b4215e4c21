"""Tables made from Parquet files: what capture windows, placement and the context tracer wrote.

A file that is cut or damaged is left out and named in a note; the others are read.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from strategy_lab.profiles.layout import WorkerFolder, worker_folders
from strategy_lab.profiles.schema import TABLES, WINDOW_TABLES

_MAGIC = b"PAR1"
Noted = Callable[[str], None]


def table_files(run: Path) -> dict[str, list[Path]]:
    """The Parquet files of each table that is kept in such, by worker, generation and number."""
    files: dict[str, list[Path]] = {name: [] for name in (*WINDOW_TABLES, "placement", "contexts")}
    for folder in worker_folders(run):
        files["placement"] += sorted(folder.path.glob("placement-*.parquet"))
        files["contexts"] += sorted(folder.path.glob("contexts-*.parquet"))
        for window in window_folders(folder):
            for name in WINDOW_TABLES:
                files[name].append(window / f"{name}.parquet")
    return {name: [path for path in paths if path.is_file()] for name, paths in files.items()}


def window_folders(folder: WorkerFolder) -> list[Path]:
    """The complete windows of a worker: renamed into place, so a name that fits is a whole one."""
    return sorted(
        path for path in folder.path.glob("window-*") if path.name[7:].isdigit() and path.is_dir()
    )


def is_whole(path: Path) -> bool:
    """Whether the file ends as Parquet files do; one cut short does not."""
    try:
        with path.open("rb") as file:
            file.seek(-min(len(_MAGIC), path.stat().st_size), 2)
            return file.read() == _MAGIC
    except OSError:
        return False


def read_table(name: str, files: list[Path], noted: Noted) -> pa.Table:
    """All rows of a table, with exactly the columns and types of its schema."""
    parts = [part for path in files if (part := _read(name, path, noted)) is not None]
    if not parts:
        return TABLES[name].empty_table()
    return pa.concat_tables(parts).unify_dictionaries()


def _read(name: str, path: Path, noted: Noted) -> pa.Table | None:
    if not is_whole(path):
        noted(f"{path.name} in {path.parent.name} is cut off: left out of {name}")
        return None
    try:
        with pq.ParquetFile(path) as file:
            table = file.read()
        # A flipped bit can make an index point outside its dictionary, or text that is not UTF-8.
        table.validate(full=True)
        return _conform(table, TABLES[name])
    except (pa.ArrowException, OSError, ValueError, TypeError) as error:
        reason = str(error).split("\n", 1)[0][:200]
        noted(f"{path.name} in {path.parent.name} cannot be read ({reason}): left out of {name}")
        return None


def _conform(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table with the schema's columns: a missing one is null, a foreign one is dropped."""
    columns = [
        table[field.name].cast(field.type)
        if field.name in table.column_names
        else pa.nulls(table.num_rows, field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)
