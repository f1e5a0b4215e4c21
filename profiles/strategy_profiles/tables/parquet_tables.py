"""Tables read from the Parquet files of capture windows, placement and the context tracer.

A damaged file, or a row that does not fit its table, is left out and named in a note.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from strategy_profiles.run.layout import worker_folders
from strategy_profiles.tables.columns import of_steps
from strategy_profiles.tables.merged_windows import (
    by_group,
    count_steps,
    read_copy,
    steps_of_copy,
)
from strategy_profiles.tables.parquet_file import (
    MANY_ROWS,
    UnreadableTableError,
    content_checksum,
    content_of,
    fit,
    read_columns,
)
from strategy_profiles.tables.recorded import RecordedFile
from strategy_profiles.tables.schema import TABLES, WINDOW_TABLES
from strategy_profiles.tables.threads import in_threads

Noted = Callable[[str], None]
_WINDOW = re.compile(r"window-[0-9]+")
_ANY: Mapping[str, RecordedFile] = {}
_Part = tuple[Path, pa.Table, list[str]]
"""A file, its rows not yet checked by `fit`, and descriptions of what it lacks."""
_Out = TypeVar("_Out")


def table_files(run: Path) -> dict[str, list[str]]:
    """Return the existing files of each table, ordered by worker, generation and number.

    As text: a long run has thousands, and making a `Path` of each takes as long as reading some.
    """
    files: dict[str, list[str]] = {name: [] for name in (*WINDOW_TABLES, "placement", "contexts")}
    for folder in worker_folders(run):
        entries = sorted(_entries(folder.path) or (), key=attrgetter("name"))
        for name in ("placement", "contexts"):
            paths = (entry.path for entry in entries if entry.name.startswith(f"{name}-"))
            files[name] += [path for path in paths if path.endswith(".parquet")]
        for entry in entries:
            if _WINDOW.fullmatch(entry.name) and _is_folder(entry):
                _add_window(entry.path, files)
    return files


def _add_window(window: str, files: dict[str, list[str]]) -> None:
    """Add the tables of a complete window. Writers rename a window only when it is complete."""
    entries = _entries(window)
    there = None if entries is None else {entry.name for entry in entries}
    for name in WINDOW_TABLES:
        if there is None or f"{name}.parquet" in there:
            files[name].append(f"{window}/{name}.parquet")


def _entries(folder: str | Path) -> list[os.DirEntry[str]] | None:
    """Return what is in a folder, broken links too; None if it cannot be read.

    What cannot be read is noted when the file is read.
    """
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return None


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself
        return False


def read_table(
    name: str, files: Sequence[str], noted: Noted, recorded: Mapping[str, RecordedFile] = _ANY
) -> pa.Table:
    """Return all rows of a table, with exactly the columns, types and ranges of its schema.

    `recorded` has the number of rows and the checksum of each file according to the events. A file
    that differs is left out and named in a note.
    """
    groups = list(by_group(name, files))
    read: list[_Part] = []
    for parts, notes in _of_each(
        groups, recorded, lambda group: _read_group(name, group, recorded)
    ):
        read += parts
        for note in notes:
            noted(note)
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


def read_parts(
    name: str,
    columns: Sequence[str],
    convert: Callable[[pa.Table], _Out],
    files: Sequence[str],
    noted: Noted,
    recorded: Mapping[str, RecordedFile] = _ANY,
    steps: Collection[int] | None = None,
) -> list[_Out]:
    """Return `convert` of some columns of what `read_table` returns, a few windows at a time.

    The parts together have the same rows in the same order, with the same notes. Of copies that
    say that all of their rows fit only these columns are read. With `steps`, the parts have only
    rows of these steps. Of a large table, `convert` runs in several threads.
    """

    def read(group: list[str]) -> tuple[_Out, list[str]]:
        notes: list[str] = []
        copy = read_copy(name, group, recorded, columns, steps)
        if copy is not None:
            return convert(copy[1]), notes
        whole = of_steps(read_table(name, group, notes.append, recorded), steps)
        return convert(whole.select(list(columns))), notes

    parts = []
    for part, notes in _of_each(list(by_group(name, files)), recorded, read):
        parts.append(part)
        for note in notes:
            noted(note)
    return parts


def rows_by_step(
    name: str, files: Sequence[str], noted: Noted, recorded: Mapping[str, RecordedFile] = _ANY
) -> dict[tuple[int, int], int]:
    """Return the number of rows by segment and step of what `read_table` returns.

    Copies whose index has these numbers are not opened.
    """
    num_rows_of: Counter[tuple[int, int]] = Counter()
    counted, others = [], []
    for group in by_group(name, files):
        known = steps_of_copy(name, group, recorded)
        if known is None:
            others += group
        else:
            counted.append(known)
    counted += read_parts(name, ("segment", "step"), count_steps, others, noted, recorded)
    for part in counted:
        for segment, step, num_rows in part:
            num_rows_of[segment, step] += num_rows
    return dict(num_rows_of)


def _of_each(
    groups: Sequence[list[str]],
    recorded: Mapping[str, RecordedFile],
    work: Callable[[list[str]], _Out],
) -> list[_Out]:
    """Return `work` of each group in order, in several threads if the files have many rows.

    Reading small files is mostly Python code, which threads do in turns. They would take more
    processor time, and the thread that serves the browser would have to wait for each of them.
    """
    numbers = [_num_rows(recorded.get(path)) for group in groups for path in group]
    return in_threads(work, groups) if sum(numbers) >= MANY_ROWS else [*map(work, groups)]


def _num_rows(file: RecordedFile | None) -> int:
    """Return the rows of a file according to the events; if they do not say, it may have many."""
    return MANY_ROWS if file is None or file.num_rows is None else file.num_rows


def _read_group(
    name: str, group: list[str], recorded: Mapping[str, RecordedFile]
) -> tuple[list[_Part], list[str]]:
    """Return the parts of files of which there may be one copy, and notes about unreadable ones."""
    if (copy := read_copy(name, group, recorded)) is not None:
        return [(*copy, [])], []
    parts: list[_Part] = []
    notes = []
    for file in group:
        path = Path(file)
        try:
            parts.append((path, *_read(name, path, recorded.get(file))))
        except UnreadableTableError as error:
            notes.append(f"{path.name} in {path.parent.name} {error}: left out of {name}")
    return parts, notes


def _read(name: str, path: Path, wanted: RecordedFile | None) -> tuple[pa.Table, list[str]]:
    content = content_of(path)
    crc32 = wanted.crc32 if wanted else None
    is_as_written = crc32 is None or content_checksum(content) == crc32
    if wanted and crc32 is not None and is_as_written and not wanted.num_rows:
        return TABLES[name].empty_table(), []  # empty files are common and slow to read
    part, lacking = read_columns(name, content, wanted.num_rows if wanted else None)
    if not is_as_written:
        raise UnreadableTableError("is not what the run wrote")
    return part, lacking


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
