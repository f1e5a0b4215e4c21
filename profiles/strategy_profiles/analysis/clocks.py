"""How well do the workers' clocks agree, and do their collectives bear it out?

Offset and drift come from the workers' own messages (`strategy_profiles.clocks.estimate`). The
check is independent of them: no replica ends an all-reduce before the last one began it. For
workers p and q that bounds how far p's clock is ahead of q's, from the marks of every step:

    gradients_p - reduced_q <= ahead <= reduced_p - gradients_q

A mark is never taken too early, but on a busy machine it can be late, so a tenth of the steps may
contradict the bounds. All ranks end together, so the median of reduced_p - reduced_q estimates
`ahead`.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from strategy_profiles.clocks.estimate import Clocks, WorkerClock
from strategy_profiles.run.topology import has_servers
from strategy_profiles.tables.columns import Ints
from strategy_profiles.tables.mark_rows import MarkRows
from strategy_profiles.tables.store import Profile

MIN_STEPS = 3
LATE_MARKS = 0.1
"""This share of the steps may have marks that were taken late."""


class CollectiveCheck(Struct, frozen=True):
    """What the all-reduces say of a worker's clock, once it is brought to the reference's.

    The remaining difference, in ms, should be 0; positive if the reference's clock is ahead.
    """

    num_steps: int
    at_least_ms: float
    at_most_ms: float
    common_end_ms: float
    """Median difference of the ends of one all-reduce."""
    is_consistent: bool
    """Whether 0 lies between the bounds, give or take the clock's own uncertainty."""


class ClockAnswer(Struct, frozen=True):
    """One worker's clock against the reference's. A missing number's `reason` says why."""

    worker: int
    title: str
    """What the process is called: `worker 1`, `parameter server 0`."""
    source: str | None
    """`reference`, `same host`, `measured`, or None."""
    offset_ms: float | None
    """Reference's time less own."""
    uncertainty_ms: float | None
    drift_ppm: float | None
    drift_uncertainty_ppm: float | None
    num_measurements: int
    measured_ms: float | None
    """The offset as the messages say, also where the host decides."""
    measured_uncertainty_ms: float | None
    check: CollectiveCheck | None
    reason: str | None

    @property
    def sentence(self) -> str:
        """The clock's difference from the reference, with its uncertainty, or why it is unknown."""
        if self.source == "reference":
            return "the reference for all clocks"
        if self.source == "same host":
            return "the same clock as the reference, on the same host"
        if self.offset_ms is None or self.uncertainty_ms is None:
            return f"not known, and not compared with any other: {self.reason}"
        drift = "" if self.drift_ppm is None else f", drifting by {self.drift_ppm:+.2f} ppm"
        # `offset_ms` is added to this clock to get the reference's: a clock that is ahead has a
        # negative offset, and is shown with a plus.
        how = f"{-self.offset_ms:+.3f} ms against the reference"
        return f"{how} (±{self.uncertainty_ms:.3f} ms){drift}"


def worker_clocks(profile: Profile) -> tuple[ClockAnswer, ...]:
    """The clocks of a run's workers, by worker; empty for a single worker."""
    clocks = profile.clocks
    if len(clocks.workers) < 2:
        return ()
    apart = [item.segment for item in profile.segments if has_servers(item)]
    rows = profile.mark_rows.only(~np.isin(profile.mark_rows.segment, apart))
    titles = profile.process_titles
    return tuple(
        _clock_answer(clock, titles.get(number, f"worker {number}"), _check(clock, clocks, rows))
        for number, clock in sorted(clocks.workers.items())
    )


def _clock_answer(clock: WorkerClock, title: str, check: CollectiveCheck | None) -> ClockAnswer:
    """Return what is known of one worker's clock, in ms and ppm; unknown values are None.

    `clock.offset_ns` is the offset from the reference's clock that tables are corrected by;
    `clock.measured` is what the worker's own messages give, used or not.
    """
    line, measured = clock.line, clock.measured
    drift_uncertainty = line.drift_uncertainty if line else None
    return ClockAnswer(
        worker=clock.worker,
        title=title,
        source=clock.source,
        offset_ms=_scaled(clock.offset_ns, 1e-6),
        uncertainty_ms=_scaled(clock.uncertainty_ns, 1e-6),
        drift_ppm=_scaled(clock.drift, 1e6),
        drift_uncertainty_ppm=_scaled(drift_uncertainty, 1e6),
        num_measurements=measured.num_measurements if measured else 0,
        measured_ms=_scaled(measured.offset_ns if measured else None, 1e-6),
        measured_uncertainty_ms=_scaled(measured.uncertainty_ns if measured else None, 1e-6),
        check=check,
        reason=clock.reason,
    )


def _check(clock: WorkerClock, clocks: Clocks, rows: MarkRows) -> CollectiveCheck | None:
    """None for the reference itself, an unknown clock, and too few steps in common."""
    if clock.worker == clocks.reference or clock.source is None:
        return None
    ours, theirs = (
        _ends(rows.only(rows.worker == number), clocks, number)
        for number in (clocks.reference, clock.worker)
    )
    _, ours_at, there = np.intersect1d(ours[0], theirs[0], return_indices=True)
    if len(ours_at) < MIN_STEPS:
        return None
    began, ended = ours[1][ours_at], ours[2][ours_at]
    began_there, ended_there = theirs[1][there], theirs[2][there]
    at_least = float(np.quantile(began - ended_there, 1 - LATE_MARKS)) / 1e6
    at_most = float(np.quantile(ended - began_there, LATE_MARKS)) / 1e6
    doubt = (clock.uncertainty_ns or 0.0) / 1e6
    return CollectiveCheck(
        num_steps=len(ours_at),
        at_least_ms=at_least,
        at_most_ms=at_most,
        common_end_ms=float(np.median(ended - ended_there)) / 1e6,
        is_consistent=at_least <= doubt and at_most >= -doubt,
    )


def _ends(rows: MarkRows, clocks: Clocks, worker: int) -> tuple[Ints, Ints, Ints]:
    """By step: when the worker's last replica began the all-reduce, and the first one ended it.

    On the reference's clock, as far as it is known.
    """
    moment, index = np.unique(rows.segment << 32 | rows.step, return_inverse=True)
    began = np.full(len(moment), np.iinfo(np.int64).min)
    ended = np.full(len(moment), np.iinfo(np.int64).max)
    np.maximum.at(began, index, clocks.to_reference(worker, rows.gradients_ns))
    np.minimum.at(ended, index, clocks.to_reference(worker, rows.reduced_ns))
    return moment, began, ended


def _scaled(value: float | None, by: float) -> float | None:
    return None if value is None else value * by
