"""Complete the tables of captured steps with the marks of the other workers.

TensorFlow's profiler runs only in the leader, and a capture covers only its own worker. Therefore:

- ranks without a capture get their rows of `replica_steps` from their marks (`source` is `marks`);
- a collective waits until the last replica of all workers has its gradients, but in the capture
  this time looks like transfer. It is moved to the wait in `collectives` and `replica_steps`.

Without marks, what moves is the time from a replica's batch to that of the last worker.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.tables.arrivals import Arrivals
from strategy_profiles.tables.columns import Floats, Ints, floats, ints
from strategy_profiles.tables.mark_phases import between_marks, fill_step
from strategy_profiles.tables.mark_rows import MarkRows
from strategy_profiles.tables.marks_table import replica_devices
from strategy_profiles.tables.schema import CATEGORIES, TABLES

_BANDWIDTHS = ("algbw_gbps", "busbw_gbps")


COMPLETED = ("replica_steps", "collectives")


def complete_tables(
    captured: Mapping[str, pa.Table],
    rows: MarkRows,
    last_ns: Ints,
    layout: Mapping[int, SegmentOpened],
) -> dict[str, pa.Table]:
    """Return the tables named in `COMPLETED`, for a run with several workers.

    Args:
      captured: the tables of the captures.
      rows: the marks of all workers.
      last_ns: for each row, when the last replica of its step had its gradients, on its own clock.
      layout: the segments by number.
    """
    replica_steps, collectives = (captured[name] for name in COMPLETED)
    captured_steps = _moments(ints(replica_steps, "segment"), ints(replica_steps, "step"))
    kept = np.isin(_moments(rows.segment, rows.step), captured_steps)
    rows, last_ns = rows.only(kept), last_ns[kept]
    waited = _waited_ms(collectives, rows, last_ns)
    corrected = _moved_to_wait(replica_steps, _sums(collectives, waited, replica_steps))
    added = _from_marks(replica_steps, rows, last_ns, layout)
    whole = pa.concat_tables([corrected, added]).unify_dictionaries()
    return {"replica_steps": whole, "collectives": _moved_to_wait(collectives, waited)}


def wait_for_batches(captured: Mapping[str, pa.Table], arrivals: Arrivals) -> dict[str, pa.Table]:
    """Return the tables named in `COMPLETED`, for segments without marks.

    The first collective after a replica has its batch waits for the last worker; after it, all
    workers go on together. What is longer than that collective passes in the next ones.
    """
    replica_steps, collectives = (captured[name] for name in COMPLETED)
    own = _places(collectives, arrivals.rows)
    start_ns = ints(collectives, "start_ns")
    lasts_ms = floats(collectives, "wait_ms") + floats(collectives, "transfer_ms")
    ended = start_ns + np.nan_to_num(lasts_ms * 1e6).astype(np.int64)
    after = np.flatnonzero(own >= 0)
    after = after[ended[after] > arrivals.rows.inputs_ns[own[after]]]
    after = after[np.argsort(start_ns[after], kind="stable")]
    waited = np.zeros(collectives.num_rows)
    left_ms = arrivals.late_ms.clip(min=0.0)
    most_ms = np.nan_to_num(floats(collectives, "transfer_ms"))
    for row in after.tolist():
        waited[row] = min(left_ms[own[row]], most_ms[row])
        left_ms[own[row]] -= waited[row]
    return {
        "replica_steps": _moved_to_wait(replica_steps, _sums(collectives, waited, replica_steps)),
        "collectives": _moved_to_wait(collectives, waited),
    }


def _waited_ms(collectives: pa.Table, rows: MarkRows, last_ns: Ints) -> Floats:
    """Return how much of each collective's transfer is a wait for replicas of other workers.

    A collective that ends before the replica has its gradients does not wait for gradients.
    """
    wait, transfer = floats(collectives, "wait_ms"), floats(collectives, "transfer_ms")
    began = ints(collectives, "start_ns") + np.nan_to_num(wait * 1e6).astype(np.int64)
    ended = began + np.nan_to_num(transfer * 1e6).astype(np.int64)
    own = _places(collectives, rows)
    known = np.flatnonzero(own >= 0)
    waited = np.zeros(collectives.num_rows)
    of_gradients = known[ended[known] > rows.gradients_ns[own[known]]]
    late_ms = (last_ns[own[of_gradients]] - began[of_gradients]) / 1e6
    waited[of_gradients] = np.clip(late_ms, 0.0, np.nan_to_num(transfer[of_gradients]))
    return waited


def _moved_to_wait(table: pa.Table, moved_ms: Floats) -> pa.Table:
    """Move `moved_ms` of each row from transfer to wait; bandwidths then refer to the rest."""
    wait, transfer = floats(table, "wait_ms"), floats(table, "transfer_ms")
    moved = np.minimum(moved_ms, np.nan_to_num(transfer))
    left = transfer - moved
    changed = {"wait_ms": wait + moved, "transfer_ms": left}
    faster = np.divide(transfer, left, out=np.full(len(left), np.nan), where=left > 0)
    for name in _BANDWIDTHS:
        if name in table.column_names:
            changed[name] = floats(table, name) * faster
    for name, values in changed.items():
        place = table.schema.get_field_index(name)
        table = table.set_column(
            place, table.schema.field(place), pa.array(values, from_pandas=True)
        )
    return table


def _sums(collectives: pa.Table, waited: Floats, replica_steps: pa.Table) -> Floats:
    """Return the sum of `waited` over the collectives of each row of `replica_steps`."""
    keys = zip(*(ints(collectives, name).tolist() for name in _KEY), strict=True)
    sums: dict[tuple[int, ...], float] = {}
    for key, value in zip(keys, waited.tolist(), strict=True):
        sums[key] = sums.get(key, 0.0) + value
    wanted = zip(*(ints(replica_steps, name).tolist() for name in _KEY), strict=True)
    return np.array([sums.get(key, 0.0) for key in wanted], np.float64)


_KEY = ("segment", "step", "worker", "replica")


def _places(table: pa.Table, rows: MarkRows) -> Ints:
    """Return, for each row of the table, the index of its replica and step in `rows`, or -1."""
    marked = zip(*(getattr(rows, name).tolist() for name in _KEY), strict=True)
    place_of_key = {key: place for place, key in enumerate(marked)}
    wanted = zip(*(ints(table, name).tolist() for name in _KEY), strict=True)
    return np.array([place_of_key.get(key, -1) for key in wanted], np.int64)


def _from_marks(
    captured: pa.Table, rows: MarkRows, last_ns: Ints, layout: Mapping[int, SegmentOpened]
) -> pa.Table:
    """Return rows of `replica_steps` for replicas whose worker did not capture the step."""
    has = set(zip(*(ints(captured, name).tolist() for name in _KEY[:3]), strict=True))
    keys = zip(*(getattr(rows, name).tolist() for name in _KEY[:3]), strict=True)
    wanted = np.array([key not in has for key in keys], bool)
    rows, last_ns = rows.only(wanted), last_ns[wanted]
    compute, delay, wait, transfer = (
        length / 1e6
        for length in between_marks(
            rows.inputs_ns, rows.gradients_ns, rows.reduced_ns, last_ns, rows.delay_ns
        )
    )
    wall = rows.wall_ns / 1e6
    between = (compute, delay, wait, transfer)
    phases = fill_step(wall, rows.input_ns / 1e6, between, np.minimum, np.maximum)
    known = {"clock": "host", "source": "marks"}
    columns = {
        **{name: pa.array(getattr(rows, name)) for name in _KEY},
        "device": replica_devices(rows.segment, rows.replica, layout),
        "start_ns": pa.array(rows.start_ns),
        "wall_ms": pa.array(wall),
        **{f"{name}_ms": pa.array(phase) for name, phase in zip(CATEGORIES, phases, strict=True)},
        **{name: pa.array([text] * len(rows), pa.string()) for name, text in known.items()},
    }
    schema = TABLES["replica_steps"]
    unknown = pa.nulls(len(rows))
    return pa.table([columns.get(field.name, unknown).cast(field.type) for field in schema], schema)


def _moments(segment: Ints, step: Ints) -> Ints:
    """Return one number per segment and step."""
    return segment << 32 | step
