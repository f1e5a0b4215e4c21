"""Tables read from the Parquet files of capture windows, placement and the context tracer.

A damaged file, or a row that does not fit its table, is left out and named in a note.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pyarrow as pa

from strategy_lab.profiles.run.layout import WorkerFolder, worker_folders
from strategy_lab.profiles.tables.parquet_file import (
    UnreadableTableError,
    fit,
    read_columns,
    why_unreadable,
)
from strategy_lab.profiles.tables.recorded import RecordedFile, checksum
from strategy_lab.profiles.tables.schema import TABLES, WINDOW_TABLES

Noted = Callable[[str], None]
_ANY: Mapping[Path, RecordedFile] = {}
_THREADS = 4
"""Arrow reads without the interpreter lock: threads halve the time for hundreds of small files."""


def table_files(run: Path) -> dict[str, list[Path]]:
    """Return the existing files of each table, ordered by worker, generation and number."""
    files: dict[str, list[Path]] = {name: [] for name in (*WINDOW_TABLES, "placement", "contexts")}
    for folder in worker_folders(run):
        files["placement"] += sorted(folder.path.glob("placement-*.parquet"))
        files["contexts"] += sorted(folder.path.glob("contexts-*.parquet"))
        for window in window_folders(folder):
            for name in WINDOW_TABLES:
                files[name].append(window / f"{name}.parquet")
    return {name: [path for path in paths if _is_there(path)] for name, paths in files.items()}


def _is_there(path: Path) -> bool:
    """Return whether the path exists; a broken link counts and is noted when it is read."""
    try:
        return path.is_symlink() or path.exists()
    except OSError:
        return True


def window_folders(folder: WorkerFolder) -> list[Path]:
    """Return the complete windows of a worker. Writers rename a window only when it is complete."""
    return sorted(
        path
        for path in folder.path.glob("window-*")
        if path.name[7:].isascii() and path.name[7:].isdigit() and path.is_dir()
    )


def read_table(
    name: str, files: list[Path], noted: Noted, recorded: Mapping[Path, RecordedFile] = _ANY
) -> pa.Table:
    """Return all rows of a table, with exactly the columns, types and ranges of its schema.

    `recorded` has the number of rows and the checksum of each file according to the events. A file
    that differs is left out and named in a note.
    """
    read = []
    with ThreadPoolExecutor(_THREADS) as pool:
        for path, found in zip(files, pool.map(partial(_try, name, recorded), files), strict=True):
            if isinstance(found, UnreadableTableError):
                noted(f"{path.name} in {path.parent.name} {found}: left out of {name}")
            else:
                read.append((path, *found))
    whole = _all_fitting(name, [part for _path, part, _lacking in read if part.num_rows])
    if whole is not None:
        for path, _part, lacking in read:
            _note_left_out(name, path, lacking, noted)
        return whole
    parts = []
    for path, part, lacking in read:
        try:
            fitting, left_out = fit(name, part)
        except UnreadableTableError as error:
            noted(f"{path.name} in {path.parent.name} {error}: left out of {name}")
            continue
        _note_left_out(name, path, lacking + left_out, noted)
        parts.append(fitting)
    return _together(name, parts)


def _try(
    name: str, recorded: Mapping[Path, RecordedFile], path: Path
) -> tuple[pa.Table, list[str]] | UnreadableTableError:
    try:
        return _read(name, path, recorded.get(path))
    except UnreadableTableError as error:
        return error


def _read(name: str, path: Path, wanted: RecordedFile | None) -> tuple[pa.Table, list[str]]:
    is_as_written = wanted is None or wanted.crc32 is None or _checksum(path) == wanted.crc32
    if wanted and wanted.crc32 is not None and is_as_written and not wanted.num_rows:
        return TABLES[name].empty_table(), []  # empty files are common and slow to read
    part, lacking = read_columns(name, path, wanted.num_rows if wanted else None)
    if not is_as_written:
        raise UnreadableTableError("is not what the run wrote")
    return part, lacking


def _checksum(path: Path) -> int | None:
    """Return the file's checksum, or None if it cannot be read."""
    try:
        return checksum(path) if why_unreadable(path) is None else None
    except OSError:
        return None


def _all_fitting(name: str, parts: list[pa.Table]) -> pa.Table | None:
    """Check all files at once: return their rows, or None if forms differ or a row does not fit."""
    if not parts:
        return TABLES[name].empty_table()
    if any(part.schema != parts[0].schema for part in parts):
        return None
    try:
        whole, left_out = fit(name, pa.concat_tables(parts))
    except UnreadableTableError:
        return None
    return None if left_out else whole.unify_dictionaries()


def _together(name: str, parts: list[pa.Table]) -> pa.Table:
    if not parts:
        return TABLES[name].empty_table()
    return pa.concat_tables(parts).unify_dictionaries()


def _note_left_out(name: str, path: Path, left_out: list[str], noted: Noted) -> None:
    for what in left_out:
        noted(f"{path.name} in {path.parent.name}: {what}: left out of {name}")
