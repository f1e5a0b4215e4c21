"""A trace as rows of the `contexts` table and as the JSON that a stepper reads."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from profiles.schema import TABLES
from strategy_core.contexts.tracer import ContextTrace, Entry


def to_json(trace: ContextTrace) -> dict[str, Any]:
    """Entries by `seq`, and what was printed between them."""
    entries = sorted(trace.entries, key=lambda entry: entry.seq)
    return {
        "entries": [asdict(entry) for entry in entries],
        "printed": [asdict(line) for line in trace.printed],
    }


def to_table(trace: ContextTrace) -> pa.Table:
    """The `contexts` table, one row per entry, by `seq`."""
    rows = [_row(entry) for entry in sorted(trace.entries, key=lambda entry: entry.seq)]
    return pa.Table.from_pylist(rows, schema=TABLES["contexts"])


def write_table(trace: ContextTrace, path: Path) -> None:
    """Write the table whole, then rename it into place."""
    part = path.with_suffix(".part")
    pq.write_table(to_table(trace), part)
    part.replace(path)


def _row(entry: Entry) -> dict[str, Any]:
    return {
        "seq": entry.seq,
        "end_seq": entry.end_seq,
        "thread": entry.thread,
        "context": entry.context,
        "replica": entry.replica,
        "call": entry.call,
        "file": entry.source.file or None,
        "line": entry.source.line or None,
        "function": entry.source.function or None,
        "depth": entry.depth,
        "parent": entry.parent,
        "phase": entry.phase,
        "switch": entry.switch,
        "strategy": entry.strategy,
        "values_in": json.dumps([[name, asdict(value)] for name, value in entry.values_in]),
        "value_out": json.dumps(asdict(entry.value_out)) if entry.value_out else None,
        "error": entry.error,
    }
