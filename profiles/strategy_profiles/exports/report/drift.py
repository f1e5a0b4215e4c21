"""Chart of each replica's compute over the steps, to see replicas that become slower.

A few replicas have a line each; many are drawn as a band, with lines for outliers.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from strategy_profiles.analysis.findings import Facts
from strategy_profiles.exports.report.facts import RunFacts
from strategy_profiles.exports.report.steps import segment_marks
from strategy_profiles.reporting.downsample import series
from strategy_profiles.reporting.palette import replica_colour
from strategy_profiles.tables.columns import Floats, Ints, floats, ints, of_segment

FEW_REPLICAS = 4
"""Up to this number, every replica has its own line."""
BAND_POINTS = 600
MAX_REPLICAS = 4096
"""A larger replica number means that the file is damaged."""


def drift(facts: RunFacts) -> dict[str, Any] | None:
    """Return compute per replica and step, from marks or else from captures; None without data."""
    timed = [item for item in facts.segments if item.steps.count]
    parts = [_matrix(facts, item) for item in timed]
    parts = [part for part in parts if part[1].size]
    if not parts:
        return None
    most = max(values.shape[1] for _, values in parts)
    if most < 2:
        return None
    budget = max(BAND_POINTS // len(parts), 20)
    short = [_shortened(number, values, budget) for number, values in parts]
    lines = _lines(short, most) if most <= FEW_REPLICAS else _band(short, facts)
    size = max(-(-len(number) // budget) for number, _ in parts)
    about = f"Each point is the median of up to {size} steps. " if size > 1 else ""
    if most > FEW_REPLICAS:
        about += "The band covers all replicas that are not drawn separately."
    return {
        "x_label": "step",
        "y_label": "compute, ms",
        "unit": "ms",
        "from_zero": True,
        "names_marks": True,
        "marks": segment_marks(timed),
        "series": lines,
        "note": about or "Every step with per-replica times is a point.",
    }


def _matrix(facts: RunFacts, item: Facts) -> tuple[Ints, Floats]:
    """Return steps and compute in ms, `[step, replica]`; NaN if unknown. Omits tracing steps."""
    number = item.segment.segment
    rows = of_segment(facts.profile.table("marks"), number)
    if not rows.num_rows:
        rows = of_segment(facts.profile.table("replica_steps"), number)
    steps, row = np.unique(ints(rows, "step"), return_inverse=True)
    replica = ints(rows, "replica")
    known = (replica >= 0) & (replica < MAX_REPLICAS)
    values = np.full((len(steps), int(replica[known].max(initial=-1)) + 1), np.nan)
    values[row[known], replica[known]] = floats(rows, "compute_ms")[known]
    timed = ~np.isin(steps, item.steps.step[~item.steps.settled])
    return steps[timed], values[timed]


def _shortened(number: Ints, values: Floats, budget: int) -> tuple[Ints, Floats]:
    """Return at most `budget` rows: for each stretch of steps its first step's number and, per
    replica, the median. `values` has a row per step and a column per replica."""
    size = -(-len(number) // budget)
    if size <= 1:
        return number, values
    whole = len(number) // size * size
    shapes = [values[:whole].reshape(-1, size, values.shape[1])]
    if whole < len(number):
        shapes.append(values[None, whole:])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a replica without a value there
        medians = [np.nanmedian(stretches, axis=1) for stretches in shapes]
    return number[::size], np.concatenate(medians)


def _lines(parts: list[tuple[Ints, Floats]], most: int) -> list[dict[str, Any]]:
    return [_line(parts, replica) for replica in range(most)]


def _line(parts: list[tuple[Ints, Floats]], replica: int) -> dict[str, Any]:
    """Return one replica's values over all segments, with gaps for segments without it."""
    own = [
        (n, v[:, replica] if replica < v.shape[1] else np.full(len(n), np.nan)) for n, v in parts
    ]
    return {"label": f"replica {replica}", "colour": replica_colour(replica), **_joined(own)}


def _band(parts: list[tuple[Ints, Floats]], facts: RunFacts) -> list[dict[str, Any]]:
    """Return median and band of the typical replicas, and a line for each outlier."""
    found = [item.stragglers.straggler for item in facts.segments]
    odd = sorted({straggler.replica for straggler in found if straggler})
    usual = [(n, np.delete(v, [r for r in odd if r < v.shape[1]], axis=1)) for n, v in parts]
    middle = _joined(_over_replicas(np.nanmedian, usual))
    middle["low"] = _joined(_over_replicas(np.nanmin, usual))["y"]
    middle["high"] = _joined(_over_replicas(np.nanmax, usual))["y"]
    label = "median of the others" if odd else "median of the replicas"
    lines = [{"label": label, "colour_name": "quiet", **middle}]
    return lines + [{**_line(parts, replica), "width": 2} for replica in odd]


def _over_replicas(
    reduce: Callable[..., Floats], parts: list[tuple[Ints, Floats]]
) -> list[tuple[Ints, Floats]]:
    """Reduce the replicas to one value per step; NaN if the step has no known time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # NumPy warns about all-NaN steps
        return [(n, reduce(v, axis=1) if v.shape[1] else np.full(len(n), np.nan)) for n, v in parts]


def _joined(parts: list[tuple[Ints, Floats]]) -> dict[str, Any]:
    number, values = (np.concatenate(column) for column in zip(*parts, strict=True))
    return series(number, values, bridge=np.inf)
