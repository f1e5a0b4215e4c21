"""Find spans by a part of their name or op."""

from __future__ import annotations

from typing import Any

import numpy as np

from strategy_profiles.timeline.layout import Timeline

MAX_FOUND = 2_000


def find_spans(timeline: Timeline, text: str) -> dict[str, Any]:
    """Find the spans whose name or op contains `text`, ignoring case.

    Returns `{"count", "spans": [[index, row, start, duration], ...]}`. `count` is the number of all
    matches; `spans` lists the first `MAX_FOUND` in order of time.
    """
    wanted = text.casefold().strip()
    if not wanted:
        return {"count": 0, "spans": []}
    names = np.array([wanted in name.casefold() for name in timeline.names], np.bool_)
    ops = np.array([wanted in op.casefold() for op in timeline.ops], np.bool_)
    matching = np.flatnonzero(names[timeline.name] | ops[timeline.op])
    first = matching[np.argsort(timeline.start[matching], kind="stable")][:MAX_FOUND]
    rows = np.searchsorted(timeline.row_starts, first, side="right") - 1
    lasting = timeline.end[first] - timeline.start[first]
    listed = np.stack([first, rows, timeline.start[first], lasting], axis=1).tolist()
    return {"count": len(matching), "spans": listed}
