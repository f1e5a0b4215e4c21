"""What one capture window says, small enough to send to every viewer while the run goes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa

from strategy_lab.profiles.analysis.breakdown import captured_breakdown
from strategy_lab.profiles.analysis.communication import collective_uses, main_collective
from strategy_lab.profiles.tables.multi_worker import COMPLETED
from strategy_lab.profiles.tables.parquet_file import UnreadableTableError, read_file

Tables = dict[str, pa.Table]


def summarise_window(
    folder: Path, complete: Callable[[Tables], Tables] = lambda tables: tables
) -> dict[str, Any]:
    """Phases per replica and traffic per collective of the window in `folder`.

    `complete` may add what other workers say of the same steps (`profiles.tables.multi_worker`).
    Returns `{"replicas": [...], "collectives": [...], "main": {...}}` with the fields of
    `ReplicaBreakdown` and `CollectiveUse`, `main` being the main collective or None; and `notes` if
    rows were left out. Raises OSError if a file is missing or damaged.
    """
    notes: list[str] = []
    tables = complete({name: _read(name, folder, notes) for name in COMPLETED})
    uses = collective_uses(tables["collectives"], tables["replica_steps"])
    main = main_collective(uses)
    return {
        "main": asdict(main) if main else None,
        "replicas": [asdict(item) for item in captured_breakdown(tables["replica_steps"])],
        "collectives": [asdict(use) for use in uses],
        **({"notes": notes} if notes else {}),
    }


def _read(name: str, folder: Path, notes: list[str]) -> pa.Table:
    try:
        table, left_out = read_file(name, folder / f"{name}.parquet")
    except UnreadableTableError as error:
        raise OSError(f"{name}.parquet in {folder.name} {error}") from None
    notes += [f"{name}.parquet: {what}: left out" for what in left_out]
    return table
