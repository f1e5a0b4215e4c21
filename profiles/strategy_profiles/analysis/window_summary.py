"""What one capture window says, small enough to send to every viewer while the run goes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from msgspec.structs import asdict

from strategy_profiles.analysis.breakdown import ReplicaBreakdown, captured_breakdown
from strategy_profiles.analysis.communication import Communication, of_one_capture
from strategy_profiles.tables.multi_worker import COMPLETED
from strategy_profiles.tables.parquet_file import UnreadableTableError, read_file

Tables = dict[str, pa.Table]


@dataclass(frozen=True, slots=True)
class WindowSummary:
    """Phases per replica and the collectives of a capture window."""

    replicas: tuple[ReplicaBreakdown, ...]
    communication: Communication
    notes: tuple[str, ...]
    """What was left out of its tables."""

    def to_json(self) -> dict[str, Any]:
        """`replicas` and `collectives` with the fields of their classes; `notes` if any."""
        return {
            "replicas": [asdict(item) for item in self.replicas],
            "collectives": [asdict(use) for use in self.communication.collectives],
            **({"notes": list(self.notes)} if self.notes else {}),
        }


def summarise_window(
    folder: Path, segment: int = 0, complete: Callable[[Tables], Tables] = lambda tables: tables
) -> WindowSummary:
    """The summary of the window in `folder`, which was captured in `segment`.

    `complete` may add what other workers say of the same steps
    (`strategy_profiles.tables.multi_worker`). Raises OSError if a file is missing or damaged.
    """
    notes: list[str] = []
    tables = complete({name: _read(name, folder, notes) for name in COMPLETED})
    captured = tables["replica_steps"]
    return WindowSummary(
        captured_breakdown(captured),
        of_one_capture(segment, tables["collectives"], captured),
        tuple(notes),
    )


def _read(name: str, folder: Path, notes: list[str]) -> pa.Table:
    try:
        table, left_out = read_file(name, folder / f"{name}.parquet")
    except UnreadableTableError as error:
        raise OSError(f"{name}.parquet in {folder.name} {error}") from None
    notes += [f"{name}.parquet: {what}: left out" for what in left_out]
    return table
