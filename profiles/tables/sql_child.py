"""The child process of `profiles.tables.sql_process`, started for a single query.

Reads from stdin a line of JSON (`query`, `tables`, limits) and the tables as Arrow streams; writes
a line of JSON (`error`, or `is_cut`) and the answer as an Arrow stream.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
from typing import Any, BinaryIO

import pyarrow as pa

from strategy_lab.profiles.errors import AnalysisError
from strategy_lab.profiles.tables.sql import open_room, reader_of

_BATCH_ROWS = 10_000


def main() -> None:
    """Answer one query and end."""
    asked = json.loads(sys.stdin.buffer.readline())
    # The kernel ends this process even if its parent died and a query computes on.
    signal.alarm(int(asked["timeout_s"]) + 5)
    tables = {name: _read_table(sys.stdin.buffer) for name in asked["tables"]}
    resource.setrlimit(resource.RLIMIT_DATA, (asked["most_bytes"], asked["most_bytes"]))
    try:
        answer, is_cut = _answer(asked, tables)
    except AnalysisError as error:
        _say({"error": error.problem, "advice": error.advice})
    except MemoryError:
        _say({"error": "memory"})
    else:
        _say({"is_cut": is_cut})
        with pa.ipc.new_stream(sys.stdout.buffer, answer.schema) as stream:
            stream.write_table(answer)
    sys.stdout.buffer.flush()


def _answer(asked: dict[str, Any], tables: dict[str, pa.Table]) -> tuple[pa.Table, bool]:
    """The first rows, and whether there are more of them than the limits allow."""
    with open_room(asked["query"], tables) as connection:
        reader = reader_of(connection, asked["query"], _BATCH_ROWS)
        batches, num_rows, num_bytes = [], 0, 0
        for batch in reader:
            batches.append(batch.slice(0, asked["most_rows"] - num_rows))
            num_rows += batch.num_rows
            num_bytes += batch.nbytes
            if num_bytes > asked["most_answer_bytes"]:
                most = asked["most_answer_bytes"] >> 20
                raise AnalysisError(
                    f"The answer takes more than {most} MiB", advice="Ask for fewer columns or rows"
                )
            if num_rows > asked["most_rows"]:
                break
        table = pa.Table.from_batches(batches, schema=reader.schema)
        return table, num_rows > asked["most_rows"]


def _read_table(source: BinaryIO) -> pa.Table:
    size = int.from_bytes(source.read(8), "little")
    return pa.ipc.open_stream(pa.py_buffer(source.read(size))).read_all()


def _say(document: dict[str, Any]) -> None:
    sys.stdout.buffer.write(json.dumps(document).encode() + b"\n")


if __name__ == "__main__":
    main()
