"""A sweep as JSON, Markdown and CSV."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict
from typing import Any

import msgspec

from strategy_profiles.reporting import units
from strategy_profiles.reporting.formulas import as_cell
from strategy_profiles.reporting.markdown import as_text
from strategy_profiles.sweep.contest import Ratio
from strategy_profiles.sweep.results import COST_NAMES, Estimate, Result, Results
from strategy_profiles.sweep.text import (
    by_reason,
    headline,
    interval_text,
    ratio_text,
    verified_text,
    what_was_done,
    why_text,
)

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


def as_json(found: Results) -> dict[str, Any]:
    """Everything that is known, as one JSON object."""
    sweep, winner = found.sweep, found.winner
    return {
        "kind": "sweep",
        "schema_version": sweep.schema_version,
        "sweep": sweep.name,
        "headline": headline(found),
        "done": what_was_done(found),
        "is_complete": found.now.next_run is None,
        "base": sweep.base,
        "axes": sweep.axes,
        "reference": found.reference.label,
        "winner": None
        if winner is None
        else {"label": winner.label, "spec": found.spec(winner.index).to_json()},
        "not_distinguishable": [item.label for item in found.rivals],
        "configurations": [
            asdict(item) | {"changes": sweep.configurations[item.index].changes}
            for item in found.table
        ],
        "verified": msgspec.to_builtins(sweep.verified),
        "left_out": msgspec.to_builtins(sweep.left_out),
        "pareto": {cost: _labels(found, found.pareto(cost)) for cost in COST_NAMES},
        "confidence": found.now.level,
    }


def as_markdown(found: Results) -> str:
    """A report, such as for a job summary."""
    lines = [f"## Sweep {as_text(found.sweep.name)}", "", as_text(headline(found)), ""]
    lines += [*_table(found), "", as_text(what_was_done(found))]
    if checked := verified_text(found):
        lines += ["", as_text(checked)]
    for cost, name in COST_NAMES.items():
        front = ", ".join(_labels(found, found.pareto(cost)))
        lines += ["", f"Pareto front, throughput against {name}: {as_text(front)}."]
    if found.sweep.left_out:
        lines += ["", "Left out:", ""]
        lines += [
            f"- {as_text(f'{units.listed(labels)}: {reason}')}"
            for reason, labels in by_reason(found.sweep.left_out).items()
        ]
    return "\n".join(lines) + "\n"


def as_csv(found: Results) -> str:
    """One row per configuration."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(map(as_cell, _row(item)) for item in found.table)
    return text.getvalue()


def _table(found: Results) -> list[str]:
    rows = [
        "| configuration | examples/s | step, ms | runs | times the default | |",
        "| --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for item in found.table:
        of_reference = "1" if item.index == found.sweep.reference else _ratio(item.of_reference)
        rates, steps = (
            interval_text(item.examples_per_second_at_median),
            interval_text(item.step_ms),
        )
        rows.append(
            f"| {as_text(item.label)} | {rates} | {steps} | {len(item.runs)} | {of_reference} | "
            f"{as_text(why_text(item))} |"
        )
    return rows


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


def _ratio(value: Ratio | None) -> str:
    return units.MISSING if value is None else ratio_text(value)


def _labels(found: Results, indices: list[int]) -> list[str]:
    return [item.label for item in found.table if item.index in indices]
