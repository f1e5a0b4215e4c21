"""What one capture window says, small enough to send to every viewer while the run goes on."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from profiles.analysis.breakdown import captured_breakdown
from profiles.analysis.communication import collective_uses


def summarise_window(folder: Path) -> dict[str, Any]:
    """Phases per replica and traffic per collective of the window in `folder`.

    Returns `{"replicas": [...], "collectives": [...]}` with the fields of `ReplicaBreakdown` and
    `CollectiveUse`. Raises OSError where a file is missing or not readable.
    """
    replica_steps = pq.read_table(folder / "replica_steps.parquet")
    collectives = pq.read_table(folder / "collectives.parquet")
    uses = collective_uses(collectives, replica_steps)
    return {
        "replicas": [asdict(replica) for replica in captured_breakdown(replica_steps)],
        "collectives": [asdict(use) for use in uses],
    }
