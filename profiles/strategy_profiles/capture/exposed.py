"""How long each replica communicated in each captured step, and how long with nothing computed.

Over interval unions of the replica's spans of the step (HTA's definition):
communication = |comm|; exposed = |comm without compute|.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from strategy_profiles.tables.columns import Bools, Floats, Ints, distinct, ints, is_one_of

COMMUNICATION = ("collective", "transfer", "wait")
SPAN_COLUMNS = ("step", "replica", "category", "start_ns", "duration_ns")


def exposed_communication(
    spans: pa.Table, chosen: Bools | None = None
) -> tuple[Ints, Ints, Ints, Ints]:
    """Return step, replica, communication and exposed communication of each pair that has spans.

    Args:
      spans: with `SPAN_COLUMNS`. A span without a replica or step belongs to no pair.
      chosen: the spans that count, all by default.

    Returns:
      Four arrays of one length: numbers of step and replica, and two lengths in nanoseconds.
    """
    step, replica = ints(spans, "step"), ints(spans, "replica")
    counts = (step >= 0) & (replica >= 0)
    if chosen is not None:
        counts &= chosen
    kinds = [is_one_of(spans, "category", names)[counts] for names in (COMMUNICATION, ("compute",))]
    start = ints(spans, "start_ns")[counts]
    end = start + ints(spans, "duration_ns")[counts]
    steps, step_place = distinct(step[counts])
    replicas, replica_place = distinct(replica[counts])
    pairs, pair = distinct(step_place * len(replicas) + replica_place)
    comm, compute, either = (
        _covered(pair[kind], start[kind], end[kind], len(pairs))
        for kind in (*kinds, kinds[0] | kinds[1])
    )
    numbers = np.divmod(pairs, max(len(replicas), 1))
    return steps[numbers[0]], replicas[numbers[1]], comm, either - compute


def exposed_columns(spans: pa.Table, step: Ints, replica: Ints) -> dict[str, Floats]:
    """Return the columns of `replica_steps`, in ms, for rows with these steps and replicas.

    They are 0 for a row without spans: the replica did not communicate.
    """
    steps, replicas, *lengths = exposed_communication(spans)
    pairs = zip(steps.tolist(), replicas.tolist(), strict=True)
    known = dict(zip(pairs, np.stack(lengths, 1), strict=True))
    none = np.zeros(2, np.int64)
    rows = zip(step.tolist(), replica.tolist(), strict=True)
    times_ms = np.array([known.get(row, none) for row in rows], np.int64).reshape(-1, 2) / 1e6
    return {"communication_ms": times_ms[:, 0], "exposed_ms": times_ms[:, 1]}


def _covered(group: Ints, start: Ints, end: Ints, num_groups: int) -> Ints:
    """Return the length of the union of the intervals of each group.

    The latest end so far is kept as a rank over all groups: ranks grow from group to group, so one
    running maximum serves all of them.
    """
    by_start, by_end = np.lexsort((start, group)), np.lexsort((end, group))
    rank = np.empty(len(group), np.int64)
    rank[by_end] = np.arange(len(group))
    reach = end[by_end][np.maximum.accumulate(rank[by_start])]
    group, start = group[by_start], start[by_start]
    before = np.concatenate((start[:1], reach[:-1]))
    is_first = np.concatenate(([True], group[1:] != group[:-1]))[: len(group)]
    since = np.where(is_first, start, np.maximum(start, before))
    lengths = np.zeros(num_groups, np.int64)
    np.add.at(lengths, group, np.maximum(reach - since, 0))
    return lengths
