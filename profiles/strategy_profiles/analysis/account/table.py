"""The account as a table of the run."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from strategy_profiles.analysis.account.account import Account, account
from strategy_profiles.analysis.account.row import Row
from strategy_profiles.tables.schema import TABLES
from strategy_profiles.tables.store import Profile


def table(profile: Profile) -> pa.Table:
    """Every row of every segment, parents before their children."""
    rows = [
        row_fields(each, row)
        for each in (account(profile, segment) for segment in profile.segments)
        for row in each.rows
    ]
    return pa.Table.from_pylist(rows, schema=TABLES["account"])


def row_fields(whole: Account, row: Row) -> dict[str, Any]:
    """A row with the names of the table's columns."""
    return {
        "segment": whole.segment,
        "row": row.row,
        "parent": row.parent or None,
        "kind": row.kind,
        "ms_per_step": whole.ms_per_step(row),
        "total_ms": row.total_ms,
        "share": whole.share(row),
        "source": row.source,
        "num_samples": row.num_samples,
        "num_times": row.num_times,
        "file": row.file,
        "line": row.line,
        "text": row.text,
        "call": row.call,
        "op": row.op,
        "layer": row.layer,
    }
