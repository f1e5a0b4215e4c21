"""Which op ran on which device: what a profile records of the placement."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from strategy_imports import tables
from strategy_imports.host_profile import HostProfile
from strategy_imports.recording import HloOp
from strategy_imports.spans import OTHER
from strategy_profiles.tables.columns import first_of_each


def ran_ops(host: HostProfile, worker: int, first_replica: int, devices: Sequence[str]) -> pa.Table:
    """Return each op once per device and replica that ran it. Variables are not in a profile."""
    spans = host.spans
    at = np.flatnonzero((spans.category != OTHER) & ((spans.device >= 0) | (spans.replica >= 0)))
    device, replica = spans.device[at] + 1, spans.replica[at] + 1
    key = (device.astype(np.int64) * (int(replica.max(initial=0)) + 1) + replica) * (
        len(host.texts.all) + 1
    ) + spans.name[at]
    rows = spans.take(at[first_of_each(key)])
    where = tables.device_of_rows(host, rows)
    ops = [host.hlo[number] if number >= 0 else HloOp() for number in rows.hlo.tolist()]
    columns = {
        "kind": pa.array(["op"] * len(rows), pa.string()),
        "name": tables.texts(rows.name, host.texts.all),
        "op": tables.texts(rows.op, host.texts.all),
        "device": tables.texts(where, tables.devices_with_replicas(host, devices)),
        "replica": tables.replica_numbers(rows, first_replica),
        "bytes": pa.array([op.bytes if op.bytes >= 0 else None for op in ops], pa.int64()),
        "source_line": pa.array([op.source_line or None for op in ops], pa.string()),
    }
    return tables.table("placement", columns, worker)
