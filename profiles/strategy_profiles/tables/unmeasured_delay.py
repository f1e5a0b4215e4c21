"""The injected delay of captured steps whose files do not have it: runs of earlier versions.

Their `compute_ms` includes the delay. The delay is then at most its length in the segment's spec.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.run.injected_delay import injected_delays
from strategy_profiles.tables.columns import floats, ints


def with_delays(rows: pa.Table, segments: Sequence[SegmentOpened]) -> pa.Table:
    """Return rows of `replica_steps` or `core_steps` without a missing `delay_ms`."""
    if not rows["delay_ms"].null_count:
        return rows
    known = {
        (segment.segment, replica): delay_ms
        for segment in segments
        for replica, delay_ms in injected_delays(segment).items()
    }
    places = zip(ints(rows, "segment").tolist(), ints(rows, "replica").tolist(), strict=True)
    compute, delay = floats(rows, "compute_ms"), floats(rows, "delay_ms")
    derived = np.minimum([known.get(place, 0.0) for place in places], compute)
    is_missing = np.isnan(delay)
    compute = np.where(is_missing, compute - derived, compute)
    delay = np.where(is_missing, derived, delay)
    for name, values in (("compute_ms", compute), ("delay_ms", delay)):
        place = rows.schema.get_field_index(name)
        rows = rows.set_column(place, rows.schema.field(place), pa.array(values))
    return rows
