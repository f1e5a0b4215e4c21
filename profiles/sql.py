"""DuckDB SQL over the tables of a run, in a room without doors.

The query may come from anybody: it sees the tables and nothing else. No file, no network, no
extension, no setting, one statement that reads; results go back as Arrow.
"""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa

from strategy_lab.profiles.errors import AnalysisError
from strategy_lab.profiles.schema import TABLES

if TYPE_CHECKING:
    from strategy_lab.profiles.store import Profile

_ROOM = {
    "enable_external_access": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "allow_community_extensions": "false",
    # Else a name that is no table is looked for among the variables of this Python process.
    "python_enable_replacements": "false",
    "memory_limit": "2GB",
    "temp_directory": "",
    "lock_configuration": "true",
}
_READING = {duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN}


def run_query(profile: Profile, query: str, *, timeout_s: float | None = None) -> pa.Table:
    """The answer to one reading statement; raises AnalysisError in DuckDB's words.

    `timeout_s` ends a query that takes longer (the page sets it; a terminal has Ctrl-C).
    """
    connection = duckdb.connect(":memory:", config=_ROOM)
    try:
        _check_reads_only(connection, query)
        for name in TABLES:
            connection.register(name, _rows(profile, name, query))
        return _execute(connection, query, timeout_s)
    finally:
        connection.close()


def _rows(profile: Profile, name: str, query: str) -> pa.Table:
    """The table, or, where the query does not name it, its columns alone: spans can be long."""
    if re.search(rf"\b{name}\b", query, re.IGNORECASE):
        return profile.table(name)
    return TABLES[name].empty_table()


def _check_reads_only(connection: duckdb.DuckDBPyConnection, query: str) -> None:
    try:
        statements = connection.extract_statements(query)
    except duckdb.Error as error:
        raise AnalysisError("A query is DuckDB SQL", _first_line(error)) from None
    if len(statements) != 1 or statements[0].type not in _READING:
        kinds = ", ".join(statement.type.name for statement in statements) or "nothing"
        raise AnalysisError("A query is one SELECT (or SHOW, DESCRIBE, EXPLAIN)", kinds)


def _execute(
    connection: duckdb.DuckDBPyConnection, query: str, timeout_s: float | None
) -> pa.Table:
    timer = threading.Timer(timeout_s, connection.interrupt) if timeout_s else None
    if timer:
        timer.daemon = True
        timer.start()
    try:
        return connection.sql(query).to_arrow_table()
    except duckdb.InterruptException:
        raise AnalysisError(f"A query ends within {timeout_s} s", advice="Ask for less") from None
    except duckdb.Error as error:
        tables = ", ".join(TABLES)
        raise AnalysisError(
            "A query is DuckDB SQL over the run's tables", _first_line(error), f"Tables: {tables}"
        ) from None
    finally:
        if timer:
            timer.cancel()


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0]
