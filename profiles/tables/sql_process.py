"""Run an untrusted query in its own process, with limits on time and memory.

DuckDB's own limits are not sufficient: an interrupted query continues for seconds while it plans or
collects rows, and lists and long texts do not count towards `memory_limit`. A process can be killed
at any time, and the kernel limits its memory.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass

import pyarrow as pa

from strategy_lab.profiles.errors import AnalysisError
from strategy_lab.profiles.tables.sql import needed_tables
from strategy_lab.profiles.tables.store import Profile

MOST_BYTES = 2 << 30
"""Memory limit of the query's process."""
MOST_ANSWER_BYTES = 64 << 20
_COMMAND = [sys.executable, "-P", "-m", "strategy_lab.profiles.tables.sql_child"]


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows of a result; `is_cut` if it has more rows than these."""

    rows: pa.Table
    is_cut: bool


def ask(profile: Profile, query: str, *, timeout_s: float, most_rows: int) -> Answer:
    """Return the result of one reading statement, with at most `most_rows` rows.

    Raises AnalysisError if the query is refused or fails, takes longer than `timeout_s` (including
    the start of the process), or needs too much memory.
    """
    tables = needed_tables(profile, query)
    asked = {
        "query": query,
        "tables": list(tables),
        "timeout_s": timeout_s,
        "most_rows": most_rows,
        "most_bytes": MOST_BYTES,
        "most_answer_bytes": MOST_ANSWER_BYTES,
    }
    request = [json.dumps(asked).encode() + b"\n", *map(_packed, tables.values())]
    try:
        done = subprocess.run(
            _COMMAND, input=b"".join(request), capture_output=True, timeout=timeout_s, check=False
        )
    except subprocess.TimeoutExpired:
        raise AnalysisError(
            f"The query took longer than {timeout_s:g} s and was ended", advice="Ask for less"
        ) from None
    head, _, body = done.stdout.partition(b"\n")
    try:
        said = json.loads(head)
    except ValueError:  # killed by the kernel, or by DuckDB when out of memory
        said = {"error": "memory"}
    if said.get("error") == "memory":
        raise AnalysisError(
            f"The query needs more than {MOST_BYTES >> 30} GiB of memory and was ended",
            advice="Ask for less",
        )
    if "error" in said:
        raise AnalysisError(said["error"], advice=said["advice"])
    return Answer(pa.ipc.open_stream(pa.py_buffer(body)).read_all(), said["is_cut"])


def _packed(table: pa.Table) -> bytes:
    """Return the table as an Arrow stream, prefixed with its length."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table.unify_dictionaries())
    data: bytes = sink.getvalue().to_pybytes()
    return len(data).to_bytes(8, "little") + data
