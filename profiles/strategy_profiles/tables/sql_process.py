"""Run a query in its own process, with limits on time and memory.

DuckDB's own limits are not sufficient: an interrupted query continues for seconds while it plans or
collects rows, and lists and long texts do not count towards `memory_limit`. A process can be killed
at any time, by Ctrl-C too, and the kernel limits its memory.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from strategy_profiles.errors import AnalysisError, shortened

if TYPE_CHECKING:
    from strategy_profiles.tables.store import Profile

MOST_BYTES = 2 << 30
"""Memory limit of the query's process."""
MOST_ANSWER_BYTES = 64 << 20
MOST_OWN_BYTES = 4 << 30
"""The limit on the command line, where the query's process also reads the tables."""
MOST_OWN_ANSWER_BYTES = 512 << 20
_NO_MEMORY = ("MemoryError", "bad_alloc", "Out of memory", "out of memory", "Cannot allocate")
_COMMAND = [sys.executable, "-P", "-m", "strategy_profiles.tables.sql_child"]


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows of a result; `is_cut` if it has more rows than these."""

    rows: pa.Table
    is_cut: bool


def run_query(profile: Profile, query: str, *, timeout_s: float, most_rows: int) -> Answer:
    """Return the result of one reading statement, with at most `most_rows` rows.

    Raises AnalysisError if the query is refused or fails, takes longer than `timeout_s` (including
    the start of the process), or needs too much memory.
    """
    from strategy_profiles.tables.sql import needed_tables  # DuckDB: `ask_folder` needs none

    tables = needed_tables(profile, query)
    request = {
        "query": query,
        "tables": list(tables),
        "timeout_s": timeout_s,
        "most_rows": most_rows,
        "most_bytes": MOST_BYTES,
        "most_answer_bytes": MOST_ANSWER_BYTES,
    }
    return _answer(request, [_packed(table) for table in tables.values()])


def ask_folder(run: Path, query: str) -> pa.Table:
    """Return the result of one reading statement over the run in a folder, without a time limit.

    Raises LabError if the folder is no run, or the query is refused, fails, or needs too much
    memory.
    """
    request = {
        "query": query,
        "run": str(run),
        "timeout_s": None,
        "most_rows": None,
        "most_bytes": MOST_OWN_BYTES,
        "most_answer_bytes": MOST_OWN_ANSWER_BYTES,
    }
    return _answer(request).rows


def _answer(asked: Mapping[str, Any], tables: Sequence[bytes] = ()) -> Answer:
    if any(0xD800 <= ord(char) < 0xE000 for char in asked["query"]):  # a byte of an argument
        raise AnalysisError("The query is not text in UTF-8", advice="Write it in UTF-8")
    request = b"".join([json.dumps(asked).encode() + b"\n", *tables])
    try:
        done = subprocess.run(
            _COMMAND, input=request, capture_output=True, timeout=asked["timeout_s"], check=False
        )
    except subprocess.TimeoutExpired:
        raise AnalysisError(
            f"The query took longer than {asked['timeout_s']:g} s and was ended",
            advice="Ask for less",
        ) from None
    head, _, body = done.stdout.partition(b"\n")
    try:
        said = json.loads(head)
    except ValueError:
        said = _ending(done.returncode, done.stderr.decode(errors="replace"))
    if said.get("error") == "memory":
        raise AnalysisError(
            f"The query needs more than {asked['most_bytes'] >> 30} GiB of memory and was ended",
            advice="Ask for fewer rows or columns",
        )
    if "error" in said:
        raise AnalysisError(said["error"], advice=said["advice"])
    return Answer(pa.ipc.open_stream(pa.py_buffer(body)).read_all(), said["is_cut"])


def _ending(code: int, stderr: str) -> dict[str, str]:
    """Return why the process ended without an answer, as it would have said itself."""
    # The kernel kills it, or a library that gets no memory ends it.
    if code == -signal.SIGKILL or any(word in stderr for word in _NO_MEMORY):
        return {"error": "memory"}
    last = (stderr.strip().splitlines() or ["it said nothing"])[-1]
    how = signal.Signals(-code).name if -code in set(signal.Signals) else f"code {code}"
    said = shortened(f"The query's process ended with {how} before it answered: {last}", 400)
    return {"error": said, "advice": "Ask in another way, or report it with the query"}


def _packed(table: pa.Table) -> bytes:
    """Return the table as an Arrow stream, prefixed with its length."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table.unify_dictionaries())
    data: bytes = sink.getvalue().to_pybytes()
    return len(data).to_bytes(8, "little") + data
