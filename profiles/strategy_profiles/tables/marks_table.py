"""The `marks` table: times of every step per replica, from in-graph timestamps.

`strategy_profiles.tables.mark_phases` has the formulas. The last replica is determined among all
replicas of the step whose workers' clocks are known (`strategy_profiles.clocks.estimate`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from strategy_profiles.clocks.estimate import Clocks
from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.run.topology import has_servers
from strategy_profiles.tables.columns import Ints, distinct
from strategy_profiles.tables.mark_phases import between_marks
from strategy_profiles.tables.mark_rows import MarkRows
from strategy_profiles.tables.schema import TABLES


def marks_table(
    rows: MarkRows,
    clocks: Clocks,
    segments: Sequence[SegmentOpened],
    incomplete: Sequence[int] = (),
) -> pa.Table:
    """Return one row per step and replica that has marks.

    Wait and reduce are null in `incomplete` segments, in which a worker's records are missing.
    """
    is_unknown = np.isin(rows.segment, incomplete)
    layout = {segment.segment: segment for segment in segments}
    last_ns = last_gradients_ns(rows, clocks, layout)
    compute, delay, wait, reduce = between_marks(
        rows.inputs_ns, rows.gradients_ns, rows.reduced_ns, last_ns, rows.delay_ns
    )
    columns = {
        "segment": rows.segment.astype(np.int32),
        "step": rows.step,
        "worker": rows.worker.astype(np.int32),
        "replica": rows.replica.astype(np.int32),
        "device": replica_devices(rows.segment, rows.replica, layout),
        "compute_ms": _ms(compute),
        "delay_ms": _ms(delay),
        "wait_ms": pa.array(_ms(wait), mask=is_unknown),
        "reduce_ms": pa.array(_ms(reduce), mask=is_unknown),
        "start_ns": rows.inputs_ns,
    }
    return pa.table(columns, schema=TABLES["marks"])


def last_gradients_ns(rows: MarkRows, clocks: Clocks, layout: Mapping[int, SegmentOpened]) -> Ints:
    """Return for each row when the last replica of its step had its gradients.

    Wall-clock nanoseconds on the clock of the row's own worker, so that they can be subtracted from
    the row's other times. Replicas are compared on the reference clock.
    """
    ahead = clocks.all_to_reference(rows.worker, rows.gradients_ns) - rows.gradients_ns
    group = _compared(rows, clocks, layout)
    last = np.full(int(group.max(initial=-1)) + 1, np.iinfo(np.int64).min, np.int64)
    np.maximum.at(last, group, rows.gradients_ns + ahead)
    own: Ints = last[group] - ahead
    return own


def _compared(rows: MarkRows, clocks: Clocks, layout: Mapping[int, SegmentOpened]) -> Ints:
    """Return a group number for each row.

    A group has the replicas of one step that wait for each other and have comparable clocks.
    """
    # Parameter server workers do not wait for each other, so each has its own group.
    apart = [number for number, opened in layout.items() if has_servers(opened)]
    alone = np.isin(rows.segment, apart)
    workers, of_worker = distinct(rows.worker)
    together = clocks.groups(workers)[of_worker]
    among = np.where(alone, np.iinfo(np.int32).max + rows.worker, together)
    group = np.zeros(len(rows), np.int64)
    for part in (rows.segment, among, rows.step):
        names, place = distinct(part)
        if len(names) > 1:
            _, group = distinct(group * len(names) + place)
    return group


def replica_devices(
    segments: Ints, replicas: Ints, layout: Mapping[int, SegmentOpened]
) -> pa.Array:
    """Return full device names by segment and replica; null if the segment does not name it."""
    numbers, of_segment = distinct(segments)
    locals_, of_replica = distinct(replicas)
    names: list[str | None] = []
    for number in numbers.tolist():
        opened = layout.get(number)
        known = opened.replica_devices if opened else []
        names += [known[at] if at < len(known) else None for at in locals_.tolist()]
    place = (of_segment * len(locals_) + of_replica).astype(np.int32)
    # Nulls must be in the indices: a Parquet file cannot have them in the dictionary.
    is_unknown = np.array([name is None for name in names], np.bool_)
    indices = pa.array(place, mask=is_unknown[place] if is_unknown.any() else None)
    return pa.DictionaryArray.from_arrays(indices, pa.array([name or "" for name in names]))


def _ms(length_ns: Ints) -> npt.NDArray[np.float64]:
    return np.maximum(length_ns, 0) / 1e6
