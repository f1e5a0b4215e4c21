"""Step time, loss and throughput over the steps, with segments and captured steps marked."""

from __future__ import annotations

from typing import Any

import numpy as np

from strategy_profiles.analysis.findings import Facts
from strategy_profiles.exports.report.facts import RunFacts, Section
from strategy_profiles.reporting import units
from strategy_profiles.reporting.downsample import Series, series, usual_distance
from strategy_profiles.tables.columns import Floats, Ints

THROUGHPUT_POINTS = 400


def steps(facts: RunFacts) -> Section | None:
    """Return the section, or None for a run without a step."""
    timed = [item for item in facts.segments if item.steps.count]
    if not timed:
        return None
    marks, captured = segment_marks(timed), _captured(timed)
    number = np.concatenate([item.steps.step for item in timed])
    wall = series(number, np.concatenate([item.steps.wall_ms for item in timed]), bridge=1)
    losses = np.concatenate([item.steps.loss for item in timed])
    at = number[np.isfinite(losses)]
    loss = series(at, losses[np.isfinite(losses)], bridge=usual_distance(at))
    shared = {"x_label": "step", "marks": marks}
    charts: dict[str, Any] = {
        "wall": {
            **shared,
            "names_marks": True,
            "captured": captured,
            "y_label": "ms",
            "unit": "ms",
            "y_range": [0, _highest_usual(timed)],
            "series": [{"label": "step time", **wall}],
        },
        "throughput": {
            **shared,
            "y_label": "examples/s",
            "from_zero": True,
            "series": [{"label": "throughput", **_throughput(timed)}],
        },
    }
    has_loss = any(value is not None for value in loss["y"])
    if has_loss:
        charts["loss"] = {
            **shared,
            "y_label": "loss",
            "series": [{"label": "loss", **loss}],
        }
    shown = {"has_loss": has_loss, "about": _about_wall(timed, wall)}
    return Section("steps", "Steps", shown, charts)


def segment_marks(timed: list[Facts]) -> list[dict[str, Any]]:
    """Return the charts' marks of the first step of each segment."""
    return [
        {
            "x": item.segment.first_step,
            "label": f"{item.segment.strategy} ×{item.segment.num_replicas}, "
            f"batch {item.segment.global_batch_size or 'unknown'}",
            "line": index > 0,
        }
        for index, item in enumerate(timed)
        if len(timed) > 1
    ]


def _captured(timed: list[Facts]) -> list[tuple[int, int]]:
    """Return the first and last step of each stretch of captured steps."""
    steps = np.concatenate([item.steps.step[item.steps.captured] for item in timed])
    if not len(steps):
        return []
    breaks = np.flatnonzero(np.diff(steps) > 1)
    firsts, lasts = steps[np.r_[0, breaks + 1]], steps[np.r_[breaks, len(steps) - 1]]
    return list(zip(firsts.tolist(), lasts.tolist(), strict=True))


def _highest_usual(timed: list[Facts]) -> float:
    """Return the top of the chart's axis; rare slow steps may exceed it to keep others visible."""
    usual = np.concatenate([item.steps.timed_ms for item in timed])
    usual = usual[np.isfinite(usual)]
    if not usual.size:
        return 1.0
    return float(min(np.quantile(usual, 0.97) * 1.5, usual.max() * 1.1))


def _about_wall(timed: list[Facts], wall: Series) -> str:
    top, every = _highest_usual(timed), np.concatenate([item.steps.wall_ms for item in timed])
    parts = []
    outside = int((every > top).sum())
    if outside:
        highest = units.milliseconds(float(np.nanmax(every)))
        parts.append(
            f"{outside} of {len(every):,} steps are above the chart, up to {highest}; the first "
            "step of a segment traces the program."
        )
    if wall["steps_per_point"] > 1:
        parts.append(
            f"Each point covers {wall['steps_per_point']} steps: the line is their median, the "
            "band their range."
        )
    parts.append("Ticks at the bottom of the chart: steps captured in full.")
    parts.append("Drag over a chart to zoom in, double-click to see all.")
    return " ".join(parts)


def _throughput(timed: list[Facts]) -> Series:
    """Return throughput of up to 400 equal stretches of steps, without tracing steps."""
    parts = [_timed(item) for item in timed]
    number, examples, wall = (np.concatenate(column) for column in zip(*parts, strict=True))
    known = np.isfinite(examples) & (wall > 0)
    number, examples, wall = number[known], examples[known], wall[known]
    if not len(number):
        return series([], [])
    starts = np.arange(0, len(number), -(-len(number) // THROUGHPUT_POINTS))
    rate = np.add.reduceat(examples, starts) / np.add.reduceat(wall, starts) * 1e3
    return series(number[starts], rate)


def _timed(facts: Facts) -> tuple[Ints, Floats, Floats]:
    timed = facts.steps.timed
    return facts.steps.step[timed], facts.steps.examples[timed], facts.steps.timed_ms
