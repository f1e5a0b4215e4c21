"""What one capture window says, small enough to send to every viewer while the run goes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from strategy_lab.profiles.across_workers import COMPLETED
from strategy_lab.profiles.analysis.breakdown import captured_breakdown
from strategy_lab.profiles.analysis.communication import collective_uses

Tables = dict[str, pa.Table]


def summarise_window(
    folder: Path, complete: Callable[[Tables], Tables] = lambda tables: tables
) -> dict[str, Any]:
    """Phases per replica and traffic per collective of the window in `folder`.

    `complete` may add what other workers say of the same steps (`profiles.across_workers`).
    Returns `{"replicas": [...], "collectives": [...]}` with the fields of `ReplicaBreakdown` and
    `CollectiveUse`. Raises OSError where a file is missing or not readable.
    """
    tables = complete({name: pq.read_table(folder / f"{name}.parquet") for name in COMPLETED})
    uses = collective_uses(tables["collectives"], tables["replica_steps"])
    return {
        "replicas": [asdict(item) for item in captured_breakdown(tables["replica_steps"])],
        "collectives": [asdict(use) for use in uses],
    }
