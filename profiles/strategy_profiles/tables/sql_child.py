"""The process that runs one query for `strategy_profiles.tables.sql_process`.

Reads a line of JSON (`query`, limits, and the `run` folder or the names of `tables`) from stdin,
and the named tables as Arrow streams. Writes a line of JSON (`error` and `advice`, or `is_cut`) and
the result as an Arrow stream.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import threading
import time
from typing import Any, BinaryIO

import pyarrow as pa

from strategy_profiles.errors import AnalysisError, LabError
from strategy_profiles.tables.sql import open_sandbox, reader_of, tables_for
from strategy_profiles.tables.store import load

_BATCH_ROWS = 10_000
_LOOK_EVERY_S = 1.0


def main() -> None:
    """Run one query and exit."""
    request = json.loads(sys.stdin.buffer.readline())
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # DuckDB would go on after Ctrl-C
    if request["timeout_s"] is None:
        threading.Thread(target=_end_with, args=[os.getppid()], daemon=True).start()
    else:
        # The kernel ends this process if its parent has died while the query still runs.
        signal.alarm(int(request["timeout_s"]) + 5)
    tables = {name: _read_table(sys.stdin.buffer) for name in request.get("tables", ())}
    resource.setrlimit(resource.RLIMIT_DATA, (request["most_bytes"], request["most_bytes"]))
    try:
        if "run" in request:
            tables = tables_for(load(request["run"]), request["query"])
        answer, is_cut = _answer(request, tables)
    except LabError as error:
        _write_line({"error": error.problem, "advice": error.advice})
    except MemoryError:
        _write_line({"error": "memory"})
    else:
        _write_line({"is_cut": is_cut})
        with pa.ipc.new_stream(sys.stdout.buffer, answer.schema) as stream:
            stream.write_table(answer)
    sys.stdout.buffer.flush()


def _answer(request: dict[str, Any], tables: dict[str, pa.Table]) -> tuple[pa.Table, bool]:
    """Return the first rows, and whether the result has more rows than the limit."""
    with open_sandbox(request["query"], tables) as connection:
        reader = reader_of(connection, request["query"], _BATCH_ROWS)
        most_rows = sys.maxsize if request["most_rows"] is None else request["most_rows"]
        batches, num_rows, num_bytes = [], 0, 0
        for batch in reader:
            batches.append(batch.slice(0, most_rows - num_rows))
            num_rows += batch.num_rows
            num_bytes += batch.nbytes
            if num_bytes > request["most_answer_bytes"]:
                most = request["most_answer_bytes"] >> 20
                raise AnalysisError(
                    f"The answer takes more than {most} MiB", advice="Ask for fewer columns or rows"
                )
            if num_rows > most_rows:
                break
        table = pa.Table.from_batches(batches, schema=reader.schema)
        return table, num_rows > most_rows


def _end_with(parent: int) -> None:
    """End this process once its parent has died."""
    while os.getppid() == parent:
        time.sleep(_LOOK_EVERY_S)
    os._exit(1)


def _read_table(source: BinaryIO) -> pa.Table:
    size = int.from_bytes(source.read(8), "little")
    return pa.ipc.open_stream(pa.py_buffer(source.read(size))).read_all()


def _write_line(document: dict[str, Any]) -> None:
    sys.stdout.buffer.write(json.dumps(document).encode() + b"\n")


if __name__ == "__main__":
    main()
