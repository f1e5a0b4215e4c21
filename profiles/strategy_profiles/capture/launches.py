"""Which call of the host launched what a device ran, and a device's own steps.

A device works behind the host that launches its kernels, by more than a step if the program reads
no result. Kernels therefore belong to the step that launched them.
"""

from __future__ import annotations

import numpy as np

from strategy_profiles.tables.columns import Ints


def launching_calls(kernels: Ints, calls: Ints) -> Ints:
    """Return the index of the call that launched each kernel; -1 if it is not known.

    Both arguments are correlation ids; a kernel and its launch share one, which is positive.
    """
    at = np.flatnonzero(calls > 0)
    if not len(at) or not len(kernels):
        return np.full(len(kernels), -1, np.int64)
    at = at[np.argsort(calls[at], kind="stable")]
    ids = calls[at]
    nearest = np.minimum(np.searchsorted(ids, kernels), len(ids) - 1)
    is_known = (ids[nearest] == kernels) & (kernels > 0)
    return np.where(is_known, at[nearest], -1)


def device_windows(
    step: Ints, start_ns: Ints, end_ns: Ints, num_steps: int, last_ns: int
) -> tuple[Ints, Ints] | None:
    """Return begin and end of each of a device's steps: from its first kernel to the next one's.

    The last step takes at least `last_ns`. Returns None if the device ran nothing in a step, or ran
    steps in another order.

    Args:
      step: the step that launched each kernel; -1 if unknown.
      start_ns: when each kernel began.
      end_ns: when each kernel ended.
      num_steps: how many steps there are.
      last_ns: the shortest length of the last step.
    """
    known = step >= 0
    if len(np.unique(step[known])) < num_steps:
        return None
    first = np.full(num_steps, np.iinfo(np.int64).max)
    np.minimum.at(first, step[known], start_ns[known])
    last = int(end_ns[step == num_steps - 1].max())
    if (np.diff(first) <= 0).any() or last <= first[-1]:
        return None
    return first, np.append(first[1:], max(last, int(first[-1]) + last_ns))
