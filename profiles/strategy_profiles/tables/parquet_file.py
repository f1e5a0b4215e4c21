"""Read a Parquet file of a table, checked against the table's schema.

The footer gives the decompressed size before any data is read, so that a file of equal rows, which
takes kilobytes on disk, cannot fill the memory.
"""

from __future__ import annotations

import functools
import os
import struct
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from strategy_profiles.guards import RefusedFileError, open_file
from strategy_profiles.tables.columns import nulls
from strategy_profiles.tables.recorded import checksum
from strategy_profiles.tables.row_check import fitting_rows
from strategy_profiles.tables.schema import ADDED, COLUMNS, MOST_OTHER_ROWS, MOST_ROWS, TABLES

_MAGIC = b"PAR1"
_SMALLEST_BYTES = 12
"""Two magics and the footer's length. A file cut right after its first magic ends with a magic."""
MANY_ROWS = 500_000
"""Fewer rows are read in one thread: starting threads takes longer."""
_MOST_BYTES_AT_ONCE = 8 << 20
LARGEST_BYTES = 2 << 30
"""Largest decompressed size of a file's columns, according to its footer."""
_LARGEST_FOOTER_BYTES = 4 << 20
"""The footer describes each column of each row group. The largest table takes 50 kB; a file of one
row per group, or a damaged length, would take minutes to parse."""


class UnreadableTableError(Exception):
    """A file is left out. The message is the end of a sentence: `is cut off`."""


def content_of(path: Path) -> bytes | Path:
    """Return the content of a file, or the path itself if the file is large.

    Reading a small file once and parsing it in memory takes half as long as Arrow's reading by
    path. Raises UnreadableTableError.
    """
    try:
        with open_file(path) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(-min(_SMALLEST_BYTES, size), os.SEEK_END)
            reason = _why_unreadable(file.read())
            file.seek(0)
            content = path if size > _MOST_BYTES_AT_ONCE else file.read(size)
    except (FileNotFoundError, RefusedFileError):
        raise UnreadableTableError("is not a file") from None
    except OSError as error:
        reason = f"cannot be read ({error.strerror})"
    if reason is not None:
        raise UnreadableTableError(reason)
    return content


def _why_unreadable(end: bytes) -> str | None:
    """Check the end of a file. Returns what is wrong as the end of a sentence, or None."""
    if len(end) < _SMALLEST_BYTES:
        return "is cut off"
    length, magic = struct.unpack("<I4s", end[-8:])
    if magic != _MAGIC:
        return "is cut off"
    if length > _LARGEST_FOOTER_BYTES:
        return f"has a footer of {length:,} bytes, more than {_LARGEST_FOOTER_BYTES:,}"
    return None


def content_checksum(content: bytes | Path) -> int:
    """Return the CRC-32 of what `content_of` returned. Raises UnreadableTableError."""
    with _arrow_errors():
        return zlib.crc32(content) if isinstance(content, bytes) else checksum(content)


def read_file(name: str, path: Path, num_rows: int | None = None) -> tuple[pa.Table, list[str]]:
    """Return the rows of a file that fit the table, and descriptions of what was left out.

    `num_rows` is the number of rows that were written, if known. Raises UnreadableTableError if the
    file is damaged, too large, or has other columns or another number of rows.
    """
    table, lacking = read_columns(name, content_of(path), num_rows)
    fitting, reasons = fit(name, table)
    return fitting, lacking + reasons


def read_columns(
    name: str,
    content: bytes | Path,
    num_rows: int | None = None,
    only: Collection[str] | None = None,
) -> tuple[pa.Table, list[str]]:
    """Return a file's columns, not yet checked by `fit`, and descriptions of missing ones.

    `content` is from `content_of`, `only` are the columns to read if not all. Raises the same
    errors as `read_file`.
    """
    source = pa.BufferReader(content) if isinstance(content, bytes) else content
    with _arrow_errors(), pq.ParquetFile(source, page_checksum_verification=True) as file:
        if num_rows is not None and file.metadata.num_rows != num_rows:
            num_found = file.metadata.num_rows
            raise UnreadableTableError(f"has {num_found:,} rows of the {num_rows:,} recorded")
        _check_size(name, file.metadata)
        columns, lacking = _columns_to_read(name, file.schema_arrow)
        if only is not None:
            columns = tuple(column for column in columns if column in only)
        # The files of a long run are read in threads already.
        use_threads = file.metadata.num_rows >= MANY_ROWS
        return file.read(list(columns), use_threads=use_threads), list(lacking)


def read_other(path: Path, schema: pa.Schema, required: Sequence[str]) -> pa.Table:
    """Return the rows of a file outside of the tables; columns that it lacks are null.

    Raises UnreadableTableError if the file is damaged or too large, or has other types or a null in
    a required column.
    """
    content = content_of(path)
    source = pa.BufferReader(content) if isinstance(content, bytes) else content
    with _arrow_errors():
        with pq.ParquetFile(source) as file:
            _check_size(path.stem, file.metadata)
            names = file.schema_arrow.names
            read = file.read([name for name in schema.names if name in names])
        table = _conform(read, schema)
        table.validate(full=True)
    for name in required:
        if table[name].null_count:
            raise UnreadableTableError(f"has rows without {name}")
    return table


def fit(name: str, table: pa.Table) -> tuple[pa.Table, list[str]]:
    """Return the rows that fit the schema, and descriptions of what was left out.

    Raises UnreadableTableError.
    """
    with _arrow_errors():
        # A flipped bit can make an index point outside its dictionary, or text that is not UTF-8.
        table.validate(full=True)
        return fitting_rows(name, _conform(table, TABLES[name]))


def fits_schema(name: str, table: pa.Table) -> bool:
    """Return whether the columns of a table have the types of the schema and no invalid value."""
    try:
        with _arrow_errors():
            table.validate(full=True)
            wanted = [TABLES[name].field(column).type for column in table.column_names]
            return table.schema.types == wanted and not fitting_rows(name, table)[1]
    except UnreadableTableError:
        return False


@contextmanager
def _arrow_errors() -> Iterator[None]:
    """Convert Arrow's errors about a damaged file to UnreadableTableError."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError, MemoryError) as error:
        said = (str(error) or type(error).__name__).split("\n", 1)[0][:200]
        raise UnreadableTableError(f"cannot be read ({said})") from None


def _check_size(name: str, metadata: pq.FileMetaData) -> None:
    most = MOST_ROWS.get(name, MOST_OTHER_ROWS)
    if not 0 <= metadata.num_rows <= most:
        raise UnreadableTableError(f"has {metadata.num_rows:,} rows, more than {most:,}")
    sizes = [metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups)]
    if sum(sizes) > LARGEST_BYTES:
        raise UnreadableTableError(f"has more than {LARGEST_BYTES >> 30} GiB in it")


@functools.lru_cache(maxsize=64)  # a run has hundreds of files with the same schema
def _columns_to_read(name: str, schema: pa.Schema) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the columns to read, and a description of the missing optional ones.

    `name` is the table, `schema` that of the file. The second tuple is empty or has one text.
    Columns of the file that the table does not have are not read.
    Raises UnreadableTableError if a required column is missing, a column occurs twice, or has
    another type.
    """
    names = schema.names
    missing = []
    for column in COLUMNS[name]:
        count = names.count(column.name)
        if count > 1:
            raise UnreadableTableError(f"has the column {column.name} {count} times")
        if not count and column.kind.is_required:
            raise UnreadableTableError(f"has no column {column.name}")
        if not count:
            if column.name not in ADDED.get(name, ()):
                missing.append(column.name)
            continue
        kind = schema.field(column.name).type
        if not can_become(kind, column.kind.type):
            raise UnreadableTableError(f"has {column.name} as {kind}, not {column.kind.type}")
    lacking = (f"the column {', '.join(missing)}, which it does not have",) if missing else ()
    return tuple(field.name for field in TABLES[name] if field.name in names), lacking


def can_become(kind: pa.DataType, wanted: pa.DataType) -> bool:
    """Return whether values have the wanted kind, in any width or encoding."""
    if pa.types.is_null(kind):
        return False
    kind, wanted = _plain(kind), _plain(wanted)
    if pa.types.is_floating(wanted):
        return bool(pa.types.is_floating(kind))
    if pa.types.is_integer(wanted):
        return bool(pa.types.is_integer(kind))
    if pa.types.is_string(wanted):
        return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
    return bool(kind == wanted)


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _conform(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return the table with the schema's columns: missing ones are null, others are dropped."""
    columns = [
        table[field.name].cast(field.type)
        if field.name in table.column_names
        else nulls(table.num_rows, field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)
