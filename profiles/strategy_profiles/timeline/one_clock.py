"""Convert the times of all workers to the reference worker's clock, and add spans of uncaptured
ranks.

TensorFlow's profiler runs only in the leader (docs/decisions/numbers.md). In a captured step, spans
of the other ranks come from their in-graph timestamps (marks): input, work until the gradients are
ready, and part in the all-reduce. If nothing was captured, the newest steps of all ranks are shown
this way.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from msgspec.structs import replace

from strategy_profiles.analysis.account.set_clock import set_clocks, starts_by_first_clock
from strategy_profiles.run.injected_delay import OP
from strategy_profiles.tables.columns import (
    Ints,
    floats,
    ints,
    of_steps,
    sorted_distinct,
    texts,
)
from strategy_profiles.tables.mark_rows import MarkRows
from strategy_profiles.tables.marks_table import last_gradients_ns, replica_devices
from strategy_profiles.tables.schema import TABLES
from strategy_profiles.tables.store import Profile
from strategy_profiles.timeline.served_steps import newest_closures, served_spans

Part = TypeVar("Part")
MAX_UNCAPTURED_STEPS = 1_000
MARKED = " (marks)"
"""Suffix of the op of a span that comes from marks and not from a capture."""
_ALL_REDUCE = "all-reduce"


def parts_on_one_clock(
    profile: Profile,
    name: str,
    columns: Sequence[str],
    convert: Callable[[pa.Table], Part],
    only: Collection[int] | None = None,
) -> list[Part]:
    """Return `convert` of columns of `table_on_one_clock`, a part of its rows at a time.

    With `only`, of the rows of these steps alone.
    """
    if _is_as_recorded(profile):
        return profile.parts(name, columns, convert, only)
    return [convert(of_steps(table_on_one_clock(profile, name), only).select(list(columns)))]


def table_on_one_clock(profile: Profile, name: str) -> pa.Table:
    """Return a table with `start_ns` on the reference clock, as it was at the first step.

    `name` is `steps`, `spans`, `collectives`, `replica_steps` or `transfers`. Spans and collectives
    include those of ranks without a capture.
    """
    table = profile.table(name)
    if _is_as_recorded(profile):
        return table
    starts = ints(table, "start_ns")
    ahead_ns = set_ahead_ns(profile, ints(table, "step"), starts)
    if name != "steps":
        starts = profile.clocks.all_to_reference(ints(table, "worker"), starts)
    starts = starts - ahead_ns
    index = table.schema.get_field_index("start_ns")
    known = pa.array(starts, mask=table["start_ns"].is_null().to_numpy(zero_copy_only=False))
    table = table.set_column(index, table.schema.field(index), known)
    if name in ("spans", "collectives") and len(profile.clocks.workers) > 1:
        rows, last_ns = uncaptured_ranks(profile)
        added = (_spans if name == "spans" else _ranks)(profile, rows, last_ns)
        table = pa.concat_tables([table, added])
        if name == "spans" and profile.table("closures").num_rows:
            served = served_spans(profile, MAX_UNCAPTURED_STEPS, MARKED)
            table = pa.concat_tables([table, served])
        table = table.unify_dictionaries()
    return table


def _is_as_recorded(profile: Profile) -> bool:
    return len(profile.clocks.workers) < 2 and not set_clocks(profile)


def set_ahead_ns(profile: Profile, step: Ints, at_ns: Ints) -> Ints:
    """Return how far the wall clock was ahead, at these times, of what it was at the first step.

    It is 0 unless the clock was set during the run; a time without a step (-1) has the clock of the
    step nearest to it. Where offsets were measured, their uncertainty has the change instead, and
    with parameter servers it is not known.
    """
    changes, steps = set_clocks(profile), profile.table("steps")
    is_unknown = profile.clocks.has_offsets or profile.table("closures").num_rows
    if not changes or is_unknown or not steps.num_rows:
        return np.zeros_like(at_ns)
    number, began_ns = ints(steps, "step"), ints(steps, "start_ns")
    first_ns = starts_by_first_clock(number, began_ns, floats(steps, "wall_ms"), changes)
    order = np.argsort(began_ns)
    ordered = began_ns[order]
    nearest = order[np.searchsorted((ordered[1:] + ordered[:-1]) // 2, at_ns)]
    own = np.searchsorted(number, step, side="right") - 1
    return (began_ns - first_ns)[np.where(step < 0, nearest, np.maximum(own, 0))]


def uncaptured_ranks(profile: Profile) -> tuple[MarkRows, Ints]:
    """Return the marks of ranks that were not captured, on the reference clock.

    They are those of the captured steps or, without any, of the newest steps. Also returns, for
    each row, when the last replica of its step had its gradients.
    """
    rows = profile.mark_rows
    layout = {segment.segment: segment for segment in profile.segments}
    last_ns = last_gradients_ns(rows, profile.clocks, layout)
    captured = profile.table("replica_steps")
    if captured.num_rows:
        by_marks = np.array([source == "marks" for source in texts(captured, "source")], bool)
        chosen = np.isin(_keys(rows), _keys_of(captured)[by_marks])
    else:
        newest = sorted_distinct(rows.step)[-MAX_UNCAPTURED_STEPS:]
        chosen = np.isin(rows.step, newest)
    rows, last_ns = rows.only(chosen), last_ns[chosen]
    # One offset for all times of a row, so that the durations between them do not change.
    ahead = profile.clocks.all_to_reference(rows.worker, rows.gradients_ns) - rows.gradients_ns
    ahead = ahead - set_ahead_ns(profile, rows.step, rows.gradients_ns)
    moved = {
        name: getattr(rows, name) + ahead for name in ("inputs_ns", "gradients_ns", "reduced_ns")
    }
    began = rows.start_ns + ahead
    return replace(rows, **moved, start_ns=began), last_ns + ahead


def uncaptured_steps(profile: Profile) -> npt.NDArray[np.int64]:
    """Return the numbers of the steps shown by marks alone; empty if steps were captured."""
    if len(profile.clocks.workers) < 2 or profile.table("replica_steps").num_rows:
        return np.empty(0, np.int64)
    served = ints(newest_closures(profile, MAX_UNCAPTURED_STEPS), "step")
    return sorted_distinct(np.concatenate([uncaptured_ranks(profile)[0].step, served]))


def _keys(rows: MarkRows) -> npt.NDArray[np.void]:
    return _packed(rows.segment, rows.step, rows.worker, rows.replica)


def _keys_of(table: pa.Table) -> npt.NDArray[np.void]:
    return _packed(*(ints(table, name) for name in ("segment", "step", "worker", "replica")))


def _packed(*columns: Ints) -> npt.NDArray[np.void]:
    """Return one comparable value per row."""
    whole = np.ascontiguousarray(np.stack(columns, axis=1))
    packed: npt.NDArray[np.void] = whole.view([("", np.int64)] * len(columns))[:, 0]
    return packed


def _spans(profile: Profile, rows: MarkRows, _last_ns: Ints) -> pa.Table:
    """Return the spans of a rank and step: input, compute, delay, collective, unless empty."""
    named = _collective_of_step(profile, rows)
    begin = rows.start_ns
    fed = np.minimum(begin + rows.input_ns, rows.inputs_ns)
    worked = rows.gradients_ns - rows.delay_ns
    parts = [
        ("input", "input", ["waiting for the batch"] * len(rows), begin, fed),
        (
            "compute",
            "compute",
            ["until the gradients are ready"] * len(rows),
            rows.inputs_ns,
            worked,
        ),
        ("delay", "injected delay", [OP] * len(rows), worked, rows.gradients_ns),
        ("collective", _ALL_REDUCE, named, rows.gradients_ns, rows.reduced_ns),
    ]
    known = _place_columns(profile, rows)
    made = []
    for category, op, names, starts, ends in parts:
        columns = {
            **known,
            "name": pa.array(names, pa.string()),
            "op": pa.array([op + MARKED] * len(rows), pa.string()),
            "category": pa.array([category] * len(rows), pa.string()),
            "start_ns": pa.array(starts),
            "duration_ns": pa.array(ends - starts),
            "clock": pa.array(["host"] * len(rows), pa.string()),
        }
        made.append(_as_table("spans", columns, len(rows)).filter(pa.array(ends > starts)))
    return pa.concat_tables(made)


def _ranks(profile: Profile, rows: MarkRows, last_ns: Ints) -> pa.Table:
    """Return each rank's part in the all-reduce of its gradients."""
    began = np.maximum(last_ns, rows.gradients_ns)
    columns = {
        **_place_columns(profile, rows),
        "op": pa.array([_ALL_REDUCE] * len(rows), pa.string()),
        "name": pa.array(_collective_of_step(profile, rows), pa.string()),
        "start_ns": pa.array(rows.gradients_ns),
        "wait_ms": pa.array((began - rows.gradients_ns) / 1e6),
        "transfer_ms": pa.array(np.maximum(rows.reduced_ns - began, 0) / 1e6),
        "source": pa.array(["marks"] * len(rows), pa.string()),
        **_instances(profile, rows),
    }
    return _as_table("collectives", columns, len(rows))


def _place_columns(profile: Profile, rows: MarkRows) -> dict[str, pa.Array]:
    layout = {segment.segment: segment for segment in profile.segments}
    columns = {name: getattr(rows, name) for name in ("segment", "step", "worker", "replica")}
    devices = replica_devices(rows.segment, rows.replica, layout)
    return {**{name: pa.array(values) for name, values in columns.items()}, "device": devices}


def _largest(profile: Profile) -> dict[tuple[int, int], int]:
    """Return, by segment and step, the row of the largest captured all-reduce.

    This is the all-reduce of the gradients.
    """
    table = profile.table("collectives")
    sizes = np.nan_to_num(floats(table, "bytes"))
    order = np.argsort(sizes, kind="stable").tolist()
    ops, steps = texts(table, "op"), ints(table, "step").tolist()
    segments = ints(table, "segment").tolist()
    return {(segments[row], steps[row]): row for row in order if ops[row] == _ALL_REDUCE}


def _rows_of(profile: Profile, rows: MarkRows) -> list[int | None]:
    largest = _largest(profile)
    moments = zip(rows.segment.tolist(), rows.step.tolist(), strict=True)
    return [largest.get(moment) for moment in moments]


def _collective_of_step(profile: Profile, rows: MarkRows) -> list[str]:
    """Return the name of the all-reduce of each row's step in the leader's capture."""
    names = texts(profile.table("collectives"), "name")
    own = (None if row is None else names[row] for row in _rows_of(profile, rows))
    return [name or _ALL_REDUCE for name in own]


def _instances(profile: Profile, rows: MarkRows) -> dict[str, pa.Array]:
    """Return the leader's instance, group size and bytes of the same all-reduce, or null."""
    table, places = profile.table("collectives"), pa.array(_rows_of(profile, rows), pa.int64())
    taken = table.select(["instance", "group_size", "bytes", "bytes_source"]).take(places)
    return {name: taken[name].combine_chunks() for name in taken.column_names}


def _as_table(name: str, columns: dict[str, pa.Array], num_rows: int) -> pa.Table:
    """Return a table with the schema's columns; those that are not given are null."""
    return pa.table(
        [
            columns[field.name].cast(field.type)
            if field.name in columns
            else pa.nulls(num_rows, field.type)
            for field in TABLES[name]
        ],
        schema=TABLES[name],
    )
