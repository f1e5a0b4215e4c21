"""Lengths of interval unions: time that overlaps counts once, never twice."""

from __future__ import annotations

import numpy as np

from profiles.analysis.columns import Ints


def union_length(start: Ints, end: Ints) -> int:
    """Length covered by intervals `[start, end)`, however they overlap."""
    if not len(start):
        return 0
    order = np.argsort(start, kind="stable")
    start, end = start[order], np.maximum(end, start)[order]
    reach = np.maximum.accumulate(end)
    covered_until = np.concatenate([start[:1], reach[:-1]])
    return int(np.maximum(end - np.maximum(start, covered_until), 0).sum())


def intersection_length(start_a: Ints, end_a: Ints, start_b: Ints, end_b: Ints) -> int:
    """Length that both unions cover: |A| + |B| - |A or B|."""
    either = union_length(np.concatenate([start_a, start_b]), np.concatenate([end_a, end_b]))
    return union_length(start_a, end_a) + union_length(start_b, end_b) - either
