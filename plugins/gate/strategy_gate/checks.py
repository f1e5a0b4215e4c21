"""The exact checks: is a count, a size or a place what the baseline accepted?

No interval: one run that differs is enough. A gate of several runs reports the worst of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from strategy_gate.baseline import Baseline, CheckedRun
from strategy_gate.exact import GROUPS, LESS_IS_BETTER, Value

Outcome = Literal["within", "better", "beyond", "unknown"]
NOT_RECORDED = "the run does not know it"


class ExactCheck(Struct, frozen=True):
    """One fact of the runs against the accepted one."""

    group: str
    name: str
    accepted: Value
    found: Value
    """Of the run that differs most, or of all."""
    run: str
    outcome: Outcome
    """`unknown`: the baseline knows it, and a run does not."""
    reason: str | None = None


def exact_checks(baseline: Baseline, runs: Sequence[CheckedRun]) -> tuple[ExactCheck, ...]:
    """Every fact that the baseline or a run names, and every group that only a run lacks."""
    varies = set(baseline.varies)
    return tuple(
        check
        for group in GROUPS
        if group in baseline.exact
        for check in _of_group(baseline, group, runs)
        if f"{group}: {check.name}" not in varies
    )


def _of_group(baseline: Baseline, group: str, runs: Sequence[CheckedRun]) -> Iterator[ExactCheck]:
    lacking = next((run for run in runs if group in run.exact.missing), None)
    if lacking is not None:
        why = lacking.exact.missing[group]
        yield ExactCheck(group, f"all {group}", None, None, lacking.run.run, "unknown", why)
        return
    accepted = baseline.exact[group]
    names = dict.fromkeys([*accepted, *(n for run in runs for n in run.exact.facts[group])])
    for name in names:
        known = accepted.get(name, 0)
        if known is None:  # a note of the gate names it
            continue
        values = [(run.exact.value(group, name), run.run.run) for run in runs]
        yield _check_value(group, name, known, values)


def _check_value(
    group: str, name: str, accepted: Value, values: list[tuple[Value, str]]
) -> ExactCheck:
    lost = next((run for value, run in values if value is None), None)
    if lost is not None:
        return ExactCheck(group, name, accepted, None, lost, "unknown", NOT_RECORDED)
    other = [(value, run) for value, run in values if value != accepted]
    if not other:
        return ExactCheck(group, name, accepted, accepted, values[0][1], "within")
    value, run = max(other, key=lambda item: _distance(item[0], accepted))
    outcome: Outcome = "beyond"
    if group in LESS_IS_BETTER and _distance(value, accepted) < 0:
        outcome = "better"
    return ExactCheck(group, name, accepted, value, run, outcome)


def _distance(value: Value, accepted: Value) -> float:
    """How much more a number is than the accepted one; of names, 1."""
    if isinstance(value, int | float) and isinstance(accepted, int | float):
        return value - accepted
    return 1.0
