"""One Parquet file of a table, read whole: as the table's schema has it, or not at all.

Its size is known from its footer before anything is read, so a file of equal rows, which takes
kilobytes on disk, does not fill the memory.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from strategy_lab.profiles.tables.row_check import fitting_rows
from strategy_lab.profiles.tables.schema import COLUMNS, MOST_OTHER_ROWS, MOST_ROWS, TABLES

_MAGIC = b"PAR1"
_SMALLEST_BYTES = 12
"""Both magics and the length of the footer: a file cut after its first magic ends with one, too."""
_MANY_ROWS = 100_000
LARGEST_BYTES = 2 << 30
"""Of a file: what its columns take once they are decompressed, as its footer says."""


class UnreadableTableError(Exception):
    """Why a file is left out, as the end of a sentence: `is cut off`."""


def why_unreadable(path: Path) -> str | None:
    """What a look at the end of the file shows to be wrong with it, as the end of a sentence."""
    if not path.is_file():  # a pipe would be waited for without end
        return "is not a file"
    try:
        if path.stat().st_size < _SMALLEST_BYTES:
            return "is cut off"
        with path.open("rb") as file:
            file.seek(-len(_MAGIC), 2)
            return None if file.read() == _MAGIC else "is cut off"
    except OSError as error:
        return f"cannot be read ({error.strerror})"


def read_file(name: str, path: Path, num_rows: int | None = None) -> tuple[pa.Table, list[str]]:
    """The rows of a file that fit the table, and what was left out of it, in words.

    `num_rows` is how many were written, if that is known.
    Raises UnreadableTableError if the file is damaged, too large, or of another form.
    """
    table, lacking = read_columns(name, path, num_rows)
    fitting, reasons = fit(name, table)
    return fitting, lacking + reasons


def read_columns(name: str, path: Path, num_rows: int | None = None) -> tuple[pa.Table, list[str]]:
    """A file's columns of the table, not yet checked by `fit`, and which it lacks, in words.

    Raises as `read_file` does.
    """
    reason = why_unreadable(path)
    if reason is not None:
        raise UnreadableTableError(reason)
    with _told(), pq.ParquetFile(path, page_checksum_verification=True) as file:
        if num_rows is not None and file.metadata.num_rows != num_rows:
            found = file.metadata.num_rows
            raise UnreadableTableError(f"has {found:,} rows of the {num_rows:,} recorded")
        _check_size(name, file.metadata)
        columns, lacking = _check_form(name, file.schema_arrow)
        # Handing the columns of a small file to threads takes longer than to read them.
        use_threads = file.metadata.num_rows >= _MANY_ROWS
        return file.read(list(columns), use_threads=use_threads), list(lacking)


def fit(name: str, table: pa.Table) -> tuple[pa.Table, list[str]]:
    """The rows that fit the table, and what was left out; raises UnreadableTableError."""
    with _told():
        # A flipped bit can make an index point outside its dictionary, or text that is not UTF-8.
        table.validate(full=True)
        return fitting_rows(name, _conform(table, TABLES[name]))


@contextmanager
def _told() -> Iterator[None]:
    """What Arrow raises about a damaged file as an UnreadableTableError."""
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


@functools.lru_cache(maxsize=64)  # a run has hundreds of files of one form
def _check_form(name: str, schema: pa.Schema) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Columns to read, and what the footer says is missing; raises UnreadableTableError."""
    names = schema.names
    missing = []
    for column in COLUMNS[name]:
        count = names.count(column.name)
        if count > 1:
            raise UnreadableTableError(f"has the column {column.name} {count} times")
        if not count and column.kind.is_required:
            raise UnreadableTableError(f"has no column {column.name}")
        if not count:
            missing.append(column.name)
            continue
        found = schema.field(column.name).type
        if not _can_become(found, column.kind.type):
            raise UnreadableTableError(f"has {column.name} as {found}, not {column.kind.type}")
    lacking = (f"the column {', '.join(missing)}, which it does not have",) if missing else ()
    return tuple(field.name for field in TABLES[name] if field.name in names), lacking


def _can_become(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether values are of the wanted kind, however wide or encoded: numbers are never text."""
    if pa.types.is_null(found):
        return False
    found, wanted = _plain(found), _plain(wanted)
    if pa.types.is_floating(wanted):
        return bool(pa.types.is_floating(found))
    if pa.types.is_integer(wanted):
        return bool(pa.types.is_integer(found))
    if pa.types.is_string(wanted):
        return bool(pa.types.is_string(found) or pa.types.is_large_string(found))
    return bool(found == wanted)


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _conform(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table with the schema's columns: a missing one is null, a foreign one is dropped."""
    columns = [
        table[field.name].cast(field.type)
        if field.name in table.column_names
        else _nulls(table.num_rows, field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)


def _nulls(num_rows: int, kind: pa.DataType) -> pa.Array:
    if not pa.types.is_dictionary(kind):
        return pa.nulls(num_rows, kind)
    # `pa.nulls` puts the null into the dictionary, which no Parquet file can have.
    indices, texts = pa.nulls(num_rows, kind.index_type), pa.array([], kind.value_type)
    return pa.DictionaryArray.from_arrays(indices, texts)
