"""Fit a straight line through measured clock offsets, with a bound on its error.

The error of a measurement is at most its own uncertainty, half its round trip. The line is a
weighted sum of the measurements, so its error at any time is at most the same weighted sum of their
uncertainties, as long as the clock runs evenly. If it does not (it was set or slewed), measurements
are farther from the line than both errors allow, and that excess is added to the bound.

What does not work: the standard error of a least-squares fit. It takes delays for noise around 0
and shrinks with every measurement. A link whose one direction is always slower is wrong by the same
amount in all of them (RFC 5905).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

STRETCHES = 64
"""The time is divided into this many parts; the measurement with the least uncertainty of each part
is used."""
MIN_FOR_DRIFT = 3
ASSUMED_DRIFT = 50e-6
"""Assumed bound on the drift, ns per ns, if there are too few measurements to estimate it."""


class ClockLine(Struct, frozen=True):
    """`offset(t) = offset_ns + drift * (t - middle_ns)`, t on the worker's own clock."""

    middle_ns: int
    offset_ns: float
    drift: float | None
    """ns per ns; None if there are too few measurements."""
    drift_uncertainty: float | None
    uncertainty_ns: float
    """Bound on the error of the offset between the first and the last measurement."""
    num_measurements: int

    def at(self, own_ns: Ints) -> Ints:
        """Return the offset in ns at times of the worker's own clock."""
        drifted = (self.drift or 0.0) * (np.asarray(own_ns, np.int64) - self.middle_ns)
        ahead: Ints = np.rint(self.offset_ns + drifted).astype(np.int64)
        return ahead

    def at_one(self, own_ns: int) -> int:
        """`at` for a single time."""
        return round(self.offset_ns + (self.drift or 0.0) * (own_ns - self.middle_ns))


def fit_line(at_ns: Ints, offset_ns: Ints, uncertainty_ns: Ints) -> ClockLine:
    """Fit the line. Needs at least one measurement."""
    best = _best_of_stretches(at_ns, uncertainty_ns)
    middle = int(at_ns[best].mean(dtype=np.float64)) if len(best) > 1 else int(at_ns[best[0]])
    base = int(offset_ns[best[0]])
    times = (at_ns[best] - middle).astype(np.float64)
    offsets = (offset_ns[best] - base).astype(np.float64)
    error_ns = np.maximum(uncertainty_ns[best], 1).astype(np.float64)
    weights = 1.0 / error_ns**2
    weights /= weights.sum()
    ends = np.array([times.min(), times.max()])
    if len(best) < MIN_FOR_DRIFT or not ends[1] > ends[0]:
        offset = float(weights @ offsets)
        bound = float(weights @ error_ns) + ASSUMED_DRIFT * float(np.abs(ends).max())
        excess = _excess(offsets - offset, error_ns, bound)
        return ClockLine(middle, base + offset, None, None, bound + excess, len(at_ns))
    centre = float(weights @ times)
    spread = float(weights @ (times - centre) ** 2)
    per_drift = weights * (times - centre) / spread
    drift = float(per_drift @ offsets)
    offset = float(weights @ offsets) - drift * centre
    shares = weights[None, :] + per_drift[None, :] * (ends[:, None] - centre)
    bound = float((np.abs(shares) @ error_ns).max())
    excess = _excess(offsets - offset - drift * times, error_ns, bound)
    drift_bound = float(np.abs(per_drift) @ error_ns)
    return ClockLine(middle, base + offset, drift, drift_bound, bound + excess, len(at_ns))


def _best_of_stretches(at_ns: Ints, uncertainty_ns: Ints) -> Ints:
    """Return the index of the least uncertain measurement of each stretch, in order of time."""
    since = (at_ns - at_ns.min()).astype(np.float64)
    stretch = (since * STRETCHES / (since.max() + 1)).astype(np.int64)
    order = np.lexsort((uncertainty_ns, stretch))
    _, first = np.unique(stretch[order], return_index=True)
    return order[first].astype(np.int64)


def _excess(residual: Floats, error_ns: Floats, bound: float) -> float:
    """Return the largest distance of a measurement from the line beyond both error bounds."""
    return float(np.maximum(np.abs(residual) - error_ns - bound, 0.0).max())
