"""Which configuration of a sweep is the fastest, how sure is that, and what was not run?"""

from __future__ import annotations

from collections.abc import Iterator

from strategy_profiles.answers.answer import Answer, Bold, Column, Table, table
from strategy_profiles.reporting import units
from strategy_sweep.contest import Ratio
from strategy_sweep.record import LeftOut
from strategy_sweep.results import COST_NAMES, Estimate, Results
from strategy_sweep.text import (
    by_reason,
    headline,
    verified_text,
    what_was_done,
    why_text,
)

_WHY = (
    Column("labels", "Configurations", "names", value=lambda item: units.listed(item[1])),
    Column("why", "Why", "names", value=lambda item: item[0].removeprefix("left out: ")),
)


def sweep_answer(results: Results) -> Answer:
    """Return the answer of a sweep, as far as it has come."""
    said = headline(results)
    name = "" if results.winner is None else results.winner.label
    before, _, after = said.partition(name) if name else (said, "", "")
    return Answer(
        "sweep",
        (before, Bold(name), after) if name else (said,),
        parts=(_configurations(results), _not_finished(results)),
    )


def _configurations(results: Results) -> Table:
    """Every configuration, the fastest first."""

    reference = results.sweep.reference
    columns = (
        Column("configuration", "Configuration", "name", value=lambda item: item.label),
        Column(
            "rate",
            "Examples/s",
            "number",
            value=lambda item: _middle(item.examples_per_second_at_median),
        ),
        Column(
            "rate_interval",
            "95 % interval",
            "figure",
            is_aside=True,
            value=lambda item: _interval(item.examples_per_second_at_median),
        ),
        Column("step", "Step", "ms", value=lambda item: _middle(item.step_ms)),
        Column(
            "step_interval",
            "95 % interval, ms",
            "figure",
            is_aside=True,
            value=lambda item: _interval(item.step_ms),
        ),
        Column(
            "ratio",
            "× default",
            "number",
            value=lambda item: 1.0 if item.index == reference else _middle(item.of_reference),
        ),
        Column(
            "ratio_interval",
            "Interval",
            "figure",
            is_aside=True,
            value=lambda item: None if item.index == reference else _interval(item.of_reference),
        ),
        Column(
            "runs",
            "Runs",
            "count",
            "That were measured. Runs that failed are not among them.",
            value=lambda item: len(item.runs),
        ),
        Column("state", "Result"),
    )
    others = [item for item in results.table if item.index != reference] or results.table
    known = [column for column in columns if any(column.of(item) is not None for item in others)]
    return table(
        "configurations", "Configurations", results.table, known, notes=tuple(_notes(results))
    )


def _notes(results: Results) -> Iterator[str]:
    yield what_was_done(results)
    if checked := verified_text(results):
        yield checked
    for cost, name in COST_NAMES.items():
        front = results.pareto(cost)
        labels = [item.label for item in results.table if item.index in front]
        if labels:
            yield f"Pareto front, throughput against {name}: {', '.join(labels)}"


def _not_finished(results: Results) -> Table:
    """What was left out or stopped, and why; combinations with one reason in a row."""
    stopped = (LeftOut(item.label, why_text(item)) for item in results.table if item.why)
    reasons = by_reason([*stopped, *results.sweep.left_out])
    title = "Left out or stopped"
    return table("not_finished", title, reasons.items(), _WHY, depths=(0,) * len(reasons))


def _middle(estimate: Estimate | Ratio | None) -> float | None:
    return None if estimate is None else estimate.middle


def _interval(estimate: Estimate | Ratio | None) -> str | None:
    if estimate is None or estimate.low is None or estimate.high is None:
        return None
    return f"{units.number(estimate.low)} to {units.number(estimate.high)}"
