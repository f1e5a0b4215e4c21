"""A sweep as JSON and CSV."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict
from typing import Any

import msgspec

from strategy_profiles.reporting.formulas import as_cell
from strategy_sweep.contest import Ratio
from strategy_sweep.results import COST_NAMES, Estimate, Result, Results
from strategy_sweep.text import headline, what_was_done

COLUMNS = (
    "configuration",
    "state",
    "runs",
    "replicas",
    "step_ms",
    "step_ms_low",
    "step_ms_high",
    "examples_per_second_at_median",
    "examples_per_second_at_median_low",
    "examples_per_second_at_median_high",
    "of_reference",
    "of_reference_low",
    "of_reference_high",
    "why",
)


def as_json(results: Results) -> dict[str, Any]:
    """Everything that is known, as one JSON object."""
    sweep, winner = results.sweep, results.winner
    return {
        "kind": "sweep",
        "schema_version": sweep.schema_version,
        "sweep": sweep.name,
        "headline": headline(results),
        "done": what_was_done(results),
        "is_complete": results.now.next_run is None,
        "base": sweep.base,
        "axes": sweep.axes,
        "reference": results.reference.label,
        "winner": None
        if winner is None
        else {"label": winner.label, "spec": results.spec(winner.index).to_json()},
        "not_distinguishable": [item.label for item in results.rivals],
        "configurations": [
            asdict(item) | {"changes": sweep.configurations[item.index].changes}
            for item in results.table
        ],
        "verified": msgspec.to_builtins(sweep.verified),
        "left_out": msgspec.to_builtins(sweep.left_out),
        "pareto": {cost: _labels(results, results.pareto(cost)) for cost in COST_NAMES},
        "confidence": results.now.level,
    }


def as_csv(results: Results) -> str:
    """One row per configuration."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(map(as_cell, _row(item)) for item in results.table)
    return text.getvalue()


def _row(item: Result) -> list[Any]:
    return [
        item.label,
        item.state,
        len(item.runs),
        item.num_replicas,
        *_ends(item.step_ms),
        *_ends(item.examples_per_second_at_median),
        *_ends(item.of_reference),
        item.why,
    ]


def _ends(value: Estimate | Ratio | None) -> list[float | None]:
    return [None] * 3 if value is None else [value.middle, value.low, value.high]


def _labels(results: Results, indices: list[int]) -> list[str]:
    return [item.label for item in results.table if item.index in indices]
