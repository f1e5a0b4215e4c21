"""Copies of 16 capture windows in one file per table, so that a long run opens quickly.

Opening the small Parquet file of a window takes longer than reading its rows. The process that
converts captures merges each 16 windows as soon as they are complete. The windows' own files stay
the record: a copy is read only if its index names exactly the files that the events report, with
their checksums. Otherwise, and if the copy is damaged or missing, the files of the windows are
read.

The index also says that every row of a copy was checked by this version's rules. Of such a copy
single columns can be read; of others only all columns together show which rows are to be left out.
Of `spans`, the largest table, it has the number of rows of each step, so that who wants some steps
opens the copies that have them alone.
"""

from __future__ import annotations

import functools
import shutil
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from strategy_profiles.decoders import decoder_of
from strategy_profiles.guards import read_file
from strategy_profiles.tables.columns import of_steps
from strategy_profiles.tables.parquet_file import (
    UnreadableTableError,
    content_checksum,
    content_of,
    fits_schema,
    read_columns,
)
from strategy_profiles.tables.recorded import RecordedFile
from strategy_profiles.tables.row_check import rules_of
from strategy_profiles.tables.schema import TABLES, WINDOW_TABLES

NUM_WINDOWS = 16
_COUNTED = "spans"
"""The table whose rows the index counts by step."""
_PREFIX = "window-"
_INDEX = "index.json"
_MOST_BYTES = 16 << 20
"""Files that are larger together are not merged: they gain little, and merging needs memory."""
_MOST_INDEX_BYTES = 1 << 20
_MOST_STEPS = 20_000
"""Rows of more steps are not counted: an index may have `_MOST_INDEX_BYTES`."""


StepCounts = tuple[tuple[int, int, int], ...]
"""Segment, step and number of rows; -1 for rows without a segment or step."""


class _Copy(msgspec.Struct, frozen=True):
    """The copy of one table."""

    num_rows: int
    crc32: int
    windows: dict[str, int]
    """The CRC-32 of each copied file, by the name of its window's folder."""
    fits: int = 0
    """`_proof` that every row of the copy fits its table; 0 if not, or if never checked."""
    steps: StepCounts = ()
    """Rows by step, in order; empty if they were not counted."""


_COPIES = decoder_of(dict[str, _Copy])


def merge_windows(window: Path) -> None:
    """Merge the windows up to the one in the folder `window` if it completes a group.

    The copies appear at once, as a folder beside the windows. Raises OSError if a write fails,
    UnreadableTableError if a file of a window cannot be read.
    """
    number = _number(window)
    if (number + 1) % NUM_WINDOWS:
        return
    folder = _folder(window)
    windows = [
        path
        for of_group in range(number + 1 - NUM_WINDOWS, number + 1)
        if (path := window.with_name(f"{_PREFIX}{of_group:06d}")).is_dir()
    ]
    scratch = folder.with_name(f".{folder.name}.part")
    try:
        scratch.mkdir(exist_ok=True)
        copies = {
            name: copy
            for name in WINDOW_TABLES
            if (copy := _write(name, [path / f"{name}.parquet" for path in windows], scratch))
        }
        (scratch / _INDEX).write_bytes(msgspec.json.encode(copies))
        shutil.rmtree(folder, ignore_errors=True)
        scratch.rename(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _write(name: str, files: Sequence[Path], folder: Path) -> _Copy | None:
    """Write one table; None if a window lacks it, or has it with other columns."""
    is_whole = bool(files) and all(file.is_file() for file in files)
    if not is_whole or sum(file.stat().st_size for file in files) > _MOST_BYTES:
        return None
    parts, windows = [], {}
    for file in files:
        content = content_of(file)
        windows[file.parent.name] = content_checksum(content)
        parts.append(read_columns(name, content)[0])
    if any(part.schema != TABLES[name] for part in parts):
        return None
    table = pa.concat_tables(parts).unify_dictionaries().combine_chunks()
    path = folder / f"{name}.parquet"
    few = [field.name for field in table.schema if pa.types.is_dictionary(field.type)]
    pq.write_table(table, path, compression="lz4", use_dictionary=few, write_statistics=False)
    crc32 = content_checksum(content_of(path))
    copy = _Copy(
        table.num_rows, crc32, windows, steps=count_steps(table) if name == _COUNTED else ()
    )
    return (
        msgspec.structs.replace(copy, fits=_proof(name, copy)) if fits_schema(name, table) else copy
    )


def count_steps(rows: pa.Table) -> StepCounts:
    """Return the number of rows of each step, in order."""
    keys = {name: rows[name].fill_null(-1) for name in ("segment", "step")}
    counts = pa.table(keys).group_by(list(keys), use_threads=False).aggregate([([], "count_all")])
    columns = (counts[name].to_pylist() for name in (*keys, "count_all"))
    return tuple(sorted(zip(*columns, strict=True)))


def _proof(name: str, copy: _Copy) -> int:
    """Return a number of this copy and the rules of its table: other ones have another."""
    counted = f" {copy.steps}" if copy.steps else ""
    return zlib.crc32(f"{name} {rules_of(name)} {copy.crc32}{counted}".encode())


def by_group(name: str, files: Sequence[str]) -> Iterator[list[str]]:
    """Yield the files of a table that a copy may hold together; all alone if it has no windows."""
    if name not in WINDOW_TABLES:
        yield from ([file] for file in files)
        return
    for _, group in groupby(files, key=_group):
        yield list(group)


def read_copy(
    name: str,
    files: Sequence[str],
    recorded: Mapping[str, RecordedFile],
    only: Collection[str] | None = None,
    steps: Collection[int] | None = None,
) -> tuple[Path, pa.Table] | None:
    """Return the copy of these files and its rows, not yet checked by `fit`; None if there is none.

    `recorded` has the checksum of each file according to the events. With `only`, return these
    columns of a copy whose rows all fit, checked themselves, and with `steps` only the rows of
    these steps.
    """
    try:
        copy = _copy_of(name, files, recorded)
        if copy is None or (only is not None and copy.fits != _proof(name, copy)):
            return None
        path = Path(f"{_folder_of(files[0])}/{name}.parquet")
        table = _read(name, path, copy, only, steps)
        # The index may be wrong, too: what is out of range is then found with all columns.
        is_checked = only is None or not table.num_rows or fits_schema(name, table)
        return (path, table) if is_checked else None
    except (OSError, ValueError, UnreadableTableError):
        return None  # the windows have the same rows


def steps_of_copy(
    name: str, files: Sequence[str], recorded: Mapping[str, RecordedFile]
) -> StepCounts | None:
    """Return the number of rows of each step of these files, by the index of their copy.

    None if it does not have them, or not for sure.
    """
    try:
        copy = _copy_of(name, files, recorded)
    except (OSError, ValueError):
        return None
    return copy.steps or None if copy and copy.fits == _proof(name, copy) else None


def _copy_of(name: str, files: Sequence[str], recorded: Mapping[str, RecordedFile]) -> _Copy | None:
    """Return what the index says of the copy of these files; None if there is none."""
    if len(files) < 2:
        return None
    checksums = {
        file.rsplit("/", 2)[1]: file_record.crc32
        for file in files
        if (file_record := recorded.get(file))
    }
    copy = _index(_folder_of(files[0])).get(name)
    is_of_these = copy is not None and copy.windows == checksums and len(checksums) == len(files)
    return copy if is_of_these else None


def _read(
    name: str,
    path: Path,
    copy: _Copy,
    only: Collection[str] | None,
    steps: Collection[int] | None,
) -> pa.Table:
    if not copy.num_rows:
        return _empty(name, only)
    if steps is not None and copy.steps and not any(step in steps for _, step, _ in copy.steps):
        return _empty(name, only)
    content = content_of(path)
    if content_checksum(content) != copy.crc32:
        raise UnreadableTableError("is not what the run wrote")
    if only is None:
        return read_columns(name, content, copy.num_rows)[0]
    if steps is None:
        return read_columns(name, content, copy.num_rows, only)[0].select(list(only))
    if not copy.steps:
        numbers = read_columns(name, content, copy.num_rows, ("step",))[0]
        if not of_steps(numbers, steps).num_rows:
            return _empty(name, only)  # most copies of a long run: one column was enough
    columns = read_columns(name, content, copy.num_rows, (*only, "step"))[0]
    return of_steps(columns, steps).select(list(only))


def _empty(name: str, only: Collection[str] | None) -> pa.Table:
    empty = _empty_table(name)
    return empty if only is None else empty.select(list(only))


@functools.cache
def _empty_table(name: str) -> pa.Table:
    return TABLES[name].empty_table()


def _index(folder: str) -> dict[str, _Copy]:
    return _decoded(read_file(Path(f"{folder}/{_INDEX}"), _MOST_INDEX_BYTES))


@functools.lru_cache(maxsize=64)  # the tables are read one after another
def _decoded(index: bytes) -> dict[str, _Copy]:
    return _COPIES.decode(index)


def _group(file: str) -> tuple[str, int]:
    """Return the worker's folder, and the number of the group of windows that `file` is of."""
    folder, window, _ = file.rsplit("/", 2)
    return folder, int(window.removeprefix(_PREFIX)) // NUM_WINDOWS


def _folder_of(file: str) -> str:
    """Return the folder of the copies of the group that a window's file is of."""
    folder, group = _group(file)
    return f"{folder}/merged-{group * NUM_WINDOWS:06d}"


def _folder(window: Path) -> Path:
    """Return the folder of the copies that a window's group has."""
    return window.with_name(f"merged-{_number(window) // NUM_WINDOWS * NUM_WINDOWS:06d}")


def _number(window: Path) -> int:
    return int(window.name.removeprefix(_PREFIX))
