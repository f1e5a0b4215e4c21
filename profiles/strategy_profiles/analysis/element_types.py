"""How much of a step's computation is in float64, or in float16?

ms of a replica = |union of its spans of ops that compute in the type|, a mean per typical captured
step and replica.

A span has the name and device of its op, and the placement the element type. Where graphs of
several functions have ops of one name on one device, it counts only if all of them are of the type.

Almost every step has a few float64 numbers of its bookkeeping. Where no tensor of the type is
larger than these, the spans are not read.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from strategy_profiles.analysis.steps import typical_captured_steps
from strategy_profiles.capture.intervals import Intervals
from strategy_profiles.tables.columns import (
    Ints,
    codes,
    distinct,
    ints,
    is_one_of,
    of_segment,
    of_steps,
    sorted_distinct,
    texts,
)
from strategy_profiles.tables.store import Profile, once

FLOAT16, FLOAT64 = "float16", "float64"
FEW_BYTES = 1024
"""A step whose ops return no larger tensor of a type does not compute with it."""
Place = tuple[str, str]
"""Name and device of an op."""
_OF_SPANS = (
    "segment", "step", "device", "replica", "name", "op", "category", "start_ns", "duration_ns",
)  # fmt: skip


class ComputedIn(Struct, frozen=True):
    """The ops of a segment that compute in one element type."""

    ms: float
    """In which a replica runs such ops: a mean over replicas and typical captured steps."""
    op: str
    """Type of the op that takes longest."""
    name: str
    """Its name in the graph."""
    op_ms: float
    """How long it runs per step of its replica."""
    num_ops: int
    """Different ops that ran in these steps, each counted once per device."""


@once
def computed_in(profile: Profile, dtype: str, segment: int) -> ComputedIn | None:
    """None if no such op ran in a typical captured step, all return few bytes, or no element types
    were recorded."""
    own = _ops_of_type(dtype, of_segment(profile.table("placement"), segment))
    if not own:
        return None
    steps = set(typical_captured_steps(profile, segment).tolist())
    spans = of_steps(of_segment(profile.columns("spans", _OF_SPANS), segment), steps)
    is_compute = is_one_of(spans, "category", ("compute",)) & (ints(spans, "replica") >= 0)
    spans = spans.filter(pa.array(is_compute))
    place_of, places = _places(spans)
    at = np.flatnonzero(np.array([each in own for each in places], np.bool_)[place_of])
    if not at.size:
        return None
    num_steps = _num_steps(spans)
    place_of = place_of[at]
    begin, length, replica = (
        ints(spans, key)[at] for key in ("start_ns", "duration_ns", "replica")
    )
    ms = 0.0
    for number in num_steps:
        its = replica == number
        busy = Intervals.union((begin[its], begin[its] + length[its]))
        ms += int((busy.ends - busy.starts).sum()) / 1e6 / num_steps[number]
    of_place_ns = np.bincount(place_of, length, len(places))
    longest = int(of_place_ns.argmax())
    first = int(np.argmax(place_of == longest))
    return ComputedIn(
        ms=ms / len(num_steps),
        op=spans["op"][int(at[first])].as_py() or "",
        name=places[longest][0],
        op_ms=float(of_place_ns[longest]) / 1e6 / num_steps[int(replica[first])],
        num_ops=len(sorted_distinct(place_of)),
    )


def _places(spans: pa.Table) -> tuple[Ints, list[Place]]:
    """The name and device of each span, as an index into those that there are."""
    (name, names), (device, devices) = codes(spans, "name"), codes(spans, "device")
    pairs, place_of = distinct(name * max(len(devices), 1) + device)
    numbers = [divmod(pair, max(len(devices), 1)) for pair in pairs.tolist()]
    return place_of, [(names[at], devices[on]) for at, on in numbers]


def _num_steps(spans: pa.Table) -> dict[int, int]:
    """By replica, the steps that it computed in: at parameter servers each has steps of its own."""
    step, replica = ints(spans, "step"), ints(spans, "replica")
    numbers = sorted_distinct(replica).tolist()
    return {number: len(sorted_distinct(step[replica == number])) for number in numbers}


def _ops_of_type(wanted: str, rows: pa.Table) -> set[Place]:
    """Name and device of the ops that are of this type in every graph that has them; empty if none
    of them returns more than a few bytes."""
    is_wanted = pc.equal(rows["dtype"], wanted).fill_null(False)
    # a return value has no size on record, but what it returns has
    is_made = pc.not_equal(rows["op"], "_Retval").fill_null(True)
    num_bytes = rows.filter(pc.and_(is_wanted, is_made))["bytes"]
    # a size that is not known may be large
    if not num_bytes.null_count and (pc.max(num_bytes).as_py() or 0) <= FEW_BYTES:
        return set()
    dtypes: dict[Place, set[str | None]] = {}
    columns = (texts(rows, key) for key in ("kind", "name", "device", "dtype"))
    for kind, name, device, dtype in zip(*columns, strict=True):
        if kind == "op":
            dtypes.setdefault((name or "", device or ""), set()).add(dtype)
    return {place for place, own in dtypes.items() if own == {wanted}}
