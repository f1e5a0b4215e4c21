"""Rows grouped by the values of their columns: groups, ranks and maxima within them."""

from __future__ import annotations

import numpy as np

from strategy_profiles.tables.columns import Ints, distinct


def groups_by(*columns: Ints) -> Ints:
    """Return for each row the number of its group, from 0 on: rows with equal values are one group.

    Groups are numbered in the order of their values, the first column first.
    """
    group = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        names, code = distinct(column)
        # Numbered again after each column: the product stays below the square of the rows' number.
        group = distinct(group * len(names) + code)[1]
    return group


def rank_in_group(group: Ints, time_ns: Ints) -> Ints:
    """Return for each row how many rows of its group come before it in time."""
    order = np.lexsort((time_ns, group))
    ordered = group[order]
    rank = np.empty(len(group), np.int64)
    rank[order] = np.arange(len(group)) - np.searchsorted(ordered, ordered, side="left")
    return rank


def group_max(group: Ints, values: Ints) -> Ints:
    """Return for each row the largest value of its group; groups are numbered from 0."""
    if not len(group):
        return values
    best = np.full(int(group.max()) + 1, np.iinfo(np.int64).min)
    np.maximum.at(best, group, values)
    return best[group]
