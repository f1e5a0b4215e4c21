"""What one capture window says, small enough to send to every viewer while the run goes on.

Means over the window's steps; a value that no row has is None.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import Table

from profiles.schema import CATEGORIES


def summarise_window(folder: Path) -> dict[str, Any]:
    """Phases per replica and traffic per collective of the window in `folder`.

    Returns `{"replicas": [{"replica", "worker", "wall_ms", "compute_ms", ...}], "collectives":
    [{"op", "per_step", "bytes", "group_size", "wait_ms", "transfer_ms", "algbw_gbps",
    "busbw_gbps", "source"}]}`; `bytes` is the sum per step. Raises OSError where a file is missing.
    """
    return {
        "replicas": _replicas(pq.read_table(folder / "replica_steps.parquet")),
        "collectives": _collectives(pq.read_table(folder / "collectives.parquet")),
    }


def _replicas(rows: Table) -> list[dict[str, Any]]:
    columns = ["wall_ms", *(f"{phase}_ms" for phase in CATEGORIES)]
    means = rows.group_by(["worker", "replica"]).aggregate([(name, "mean") for name in columns])
    found = [
        {"worker": row["worker"], "replica": row["replica"]}
        | {name: row[f"{name}_mean"] for name in columns}
        for row in means.to_pylist()
    ]
    return sorted(found, key=lambda row: (row["worker"] or 0, row["replica"] or 0))


def _collectives(rows: Table) -> list[dict[str, Any]]:
    rows = rows.set_column(rows.schema.get_field_index("op"), "op", pc.cast(rows["op"], "string"))
    rows = rows.set_column(
        rows.schema.get_field_index("source"), "source", pc.cast(rows["source"], "string")
    )
    return [_one_op(rows.filter(pc.equal(rows["op"], op)), op) for op in rows["op"].unique()]


def _one_op(rows: Table, op: Any) -> dict[str, Any]:
    """A collective counts once however many replicas take part in it."""
    num_steps = pc.count_distinct(rows["step"]).as_py() or 1
    instances = rows.group_by(["step", "name", "instance"]).aggregate([("bytes", "max")])
    total = pc.sum(instances["bytes_max"]).as_py()
    return {
        "op": op.as_py(),
        "per_step": instances.num_rows / num_steps,
        "bytes": None if total is None else total / num_steps,
        "group_size": pc.max(rows["group_size"]).as_py(),
        **{name: pc.mean(rows[name]).as_py() for name in ("wait_ms", "transfer_ms")},
        **{name: pc.mean(rows[name]).as_py() for name in ("algbw_gbps", "busbw_gbps")},
        "source": pc.max(rows["source"]).as_py(),
    }
