"""DuckDB SQL over the tables of a run, sandboxed: no file, network, extension or settings access.

A query is one statement that reads; its result is an Arrow table. Queries of the page, of coding
agents and of `strategy-lab sql` run in a separate process (`strategy_profiles.tables.sql_process`).
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import duckdb
import pyarrow as pa

from strategy_profiles.errors import AnalysisError
from strategy_profiles.tables.columns import nulls
from strategy_profiles.tables.schema import TABLES, WINDOW_TABLES
from strategy_profiles.tables.store import Profile

LONGEST_QUERY = 100_000
"""Characters. DuckDB needs minutes to plan a longer query."""
MEMORY_LIMIT = "1 GB"
_SANDBOX = {
    "enable_external_access": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "allow_community_extensions": "false",
    # Otherwise DuckDB resolves unknown table names to variables of this Python process.
    "python_enable_replacements": "false",
    "memory_limit": MEMORY_LIMIT,
    "temp_directory": "",
    "lock_configuration": "true",
}
_READING = {duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN}


def run_query(profile: Profile, query: str) -> pa.Table:
    """Return the result of one reading statement. Raises AnalysisError with DuckDB's message."""
    with open_sandbox(query, tables_for(profile, query)) as connection:
        return reader_of(connection, query).read_all()


def tables_for(profile: Profile, query: str) -> dict[str, pa.Table]:
    """Return the tables that a query names, each with the columns that it reads.

    DuckDB plans the query over empty tables first, and again over the filled ones: a plan that
    then reads more gets whole tables. Planning may take long, so not for queries of the page.
    """
    with open_sandbox(query, {}) as connection:
        columns = planned_columns(connection, query)
    if columns is None:
        return needed_tables(profile, query)
    tables = {name: with_columns(profile, name, columns) for name in _tables_in(query)}
    with open_sandbox(query, tables) as connection:
        again = planned_columns(connection, query)
    return tables if again is not None and again <= columns else needed_tables(profile, query)


def needed_tables(profile: Profile, query: str) -> dict[str, pa.Table]:
    """Return only the tables that a query names, because `spans` can be large."""
    return {name: profile.table(name) for name in _tables_in(query)}


def _tables_in(query: str) -> list[str]:
    return [name for name in TABLES if re.search(rf"\b{name}\b", query, re.IGNORECASE)]


@contextlib.contextmanager
def open_sandbox(query: str, tables: Mapping[str, pa.Table]) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a sandboxed connection with `tables`; tables that are not given are empty.

    Raises AnalysisError if the query is not one statement that reads. Errors of DuckDB in the block
    are raised as AnalysisError.
    """
    if len(query) > LONGEST_QUERY:
        raise AnalysisError(f"The query has more than {LONGEST_QUERY:,} characters")
    connection = duckdb.connect(":memory:", config=_SANDBOX)
    try:
        _check_reads_only(connection, query)
        for name, schema in TABLES.items():
            connection.register(name, tables.get(name, schema.empty_table()))
        yield connection
    except duckdb.OutOfMemoryException:
        raise AnalysisError(
            f"The query needs more memory than the {MEMORY_LIMIT} it may use",
            advice="Ask for fewer rows or columns",
        ) from None
    except duckdb.Error as error:
        raise AnalysisError(
            f"DuckDB refuses the query: {_first_line(error)}", advice=f"Tables: {', '.join(TABLES)}"
        ) from None
    finally:
        connection.close()


def reader_of(
    connection: duckdb.DuckDBPyConnection, query: str, batch_rows: int = 1_000_000
) -> pa.RecordBatchReader:
    """Return a reader of the result's rows, which computes them on demand.

    Each column has a name of its own: of two columns `wall_ms` of a join the second is `wall_ms_1`,
    as in a table that DuckDB makes of such a query. A row as a dictionary would lose one of them.
    """
    relation = connection.sql(query)
    if relation is None:  # an EXPLAIN of a statement without rows
        raise AnalysisError("The query returns no rows")
    # DuckDB before 1.4 uses another name.
    read = getattr(relation, "to_arrow_reader", None) or relation.fetch_record_batch
    reader = read(batch_rows)
    names = _distinct(reader.schema.names)
    if names == reader.schema.names:
        return reader
    fields = zip(reader.schema, names, strict=True)
    schema = pa.schema([field.with_name(name) for field, name in fields])
    renamed = (pa.RecordBatch.from_arrays(batch.columns, schema=schema) for batch in reader)
    return pa.RecordBatchReader.from_batches(schema, renamed)


def _distinct(names: Sequence[str]) -> list[str]:
    """Return the names with a number behind each that came before."""
    taken, distinct = set(names), list[str]()
    for name in names:
        free, number = name, 0
        while free in distinct or (number and free in taken):
            number += 1
            free = f"{name}_{number}"
        distinct.append(free)
    return distinct


def _check_reads_only(connection: duckdb.DuckDBPyConnection, query: str) -> None:
    try:
        statements = connection.extract_statements(query)
    except duckdb.Error as error:
        raise AnalysisError(f"The query is not DuckDB SQL: {_first_line(error)}") from None
    if len(statements) != 1 or statements[0].type not in _READING:
        kinds = ", ".join(statement.type.name for statement in statements) or "nothing"
        if kinds == "MULTI":
            raise AnalysisError(
                "The query is a PIVOT that has to look up its columns first",
                advice="Name their values: PIVOT spans ON step IN (1, 2) USING sum(duration_ns)",
            )
        raise AnalysisError(
            f"The query is {kinds[:200]}, not a single reading statement",
            advice="Write one SELECT, SHOW, DESCRIBE or EXPLAIN",
        )


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0][:1000]


_SCAN = "ARROW_SCAN"


def planned_columns(connection: duckdb.DuckDBPyConnection, query: str) -> set[str] | None:
    """Return the columns that DuckDB's plan reads of any table; None if the plan does not say."""
    if connection.extract_statements(query)[0].type != duckdb.StatementType.SELECT:
        return None
    (_, text), *_ = connection.execute(f"explain (format json) {query}").fetchall()
    try:
        scans = [scan for plan in json.loads(text) for scan in _scans(plan)]
        planned: set[str] = set()
        for scan in scans:
            columns = scan["extra_info"]["Projections"]
            planned.update([columns] if isinstance(columns, str) else columns)
    except (ValueError, KeyError, TypeError):  # a version of DuckDB that describes plans otherwise
        return None
    return planned or None


def _scans(plan: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the plan's parts that read a table."""
    own = [plan] if _SCAN in plan["name"] else []
    return own + [scan for child in plan["children"] for scan in _scans(child)]


def with_columns(profile: Profile, name: str, columns: Collection[str]) -> pa.Table:
    """Return a table with values in these columns; the others of a window's table are null.

    A large table is then read without them. They stay in the table, because a query may name a
    column that its plan does not read: `select op from (select op, name from spans)`.
    """
    wanted = [column for column in TABLES[name].names if column in columns]
    if name not in WINDOW_TABLES or not wanted:
        return profile.table(name)
    values = profile.columns(name, wanted)
    chunks = [len(chunk) for chunk in values.column(0).chunks]
    return pa.table(
        [
            values[field.name] if field.name in wanted else _nulls(field.type, chunks)
            for field in TABLES[name]
        ],
        schema=TABLES[name],
    )


def _nulls(kind: pa.DataType, chunks: list[int]) -> pa.ChunkedArray:
    """Return nulls in chunks that share their memory."""
    longest = nulls(max(chunks, default=0), kind)
    return pa.chunked_array([longest.slice(0, length) for length in chunks], kind)
