"""A gate's numbers in other tools' formats: github-action-benchmark, Bencher, GitHub annotations.

github-action-benchmark (`customSmallerIsBetter`): `[{name, unit, value, range, extra}]`. Bencher
Metric Format: `{benchmark: {measure: {value, lower_value, upper_value}}}`. Both take a larger
number for worse, so numbers of replicas, ops and variables, of which any difference counts, are in
neither.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from strategy_gate.checks import ExactCheck
from strategy_gate.exact import LESS_IS_BETTER
from strategy_gate.report import GateReport
from strategy_gate.text import failures, open_questions


def github_action_benchmark(report: GateReport) -> list[dict[str, Any]]:
    """Every number for which less is better."""
    entries: list[dict[str, Any]] = []
    for time in report.times.checks if report.times else ():
        reach = time.reach_ms
        entry = {"name": _name(report, time.name), "unit": "ms", "value": time.found_ms}
        extra = f"accepted: {time.accepted_ms:.6g} ms; {time.outcome}"
        entries.append(entry | ({"range": f"± {reach:.3g}"} if reach else {}) | {"extra": extra})
    for check, value in _counts(report):
        entry = {"name": _name(report, _fact(check)), "unit": _unit(check), "value": value}
        entries.append(entry | {"extra": f"accepted: {check.accepted}; {check.outcome}"})
    return entries


def _counts(report: GateReport) -> Iterator[tuple[ExactCheck, float]]:
    """Yield the exact checks of which less is better, with what was found."""
    for check in report.exact:
        if check.group in LESS_IS_BETTER and isinstance(check.found, int | float):
            yield check, check.found


def bencher(report: GateReport) -> dict[str, dict[str, dict[str, float]]]:
    """The same numbers: each is a benchmark with one measure, its unit.

    Not one benchmark with a measure for each number: Bencher refuses a file with a measure's name
    of more than 64 characters, and a threshold belongs to a measure.
    """
    measures: dict[str, dict[str, dict[str, float]]] = {}
    for time in report.times.checks if report.times else ():
        reach = time.reach_ms
        bounds = {}
        if reach:
            low, high = time.found_ms - reach, time.found_ms + reach
            bounds = {"lower_value": max(low, 0.0), "upper_value": high}
        measures[_name(report, time.name)] = {"milliseconds": {"value": time.found_ms, **bounds}}
    for check, value in _counts(report):
        measures[_name(report, _fact(check))] = {_unit(check): {"value": float(value)}}
    return measures


def _name(report: GateReport, what: str) -> str:
    return f"{report.title}: {what}"


def _fact(check: ExactCheck) -> str:
    return f"{check.group}, {check.name}"


def _unit(check: ExactCheck) -> str:
    return "bytes" if "bytes" in check.name else "count"


def workflow_commands(report: GateReport) -> list[str]:
    """Workflow commands of GitHub Actions: an error for each failure, a warning if undecided."""
    errors = [f"::error title=Strategy Lab::{_command(text)}" for text in failures(report)]
    open_ = [f"::warning title=Strategy Lab::{_command(t)}" for t in open_questions(report)]
    return errors + open_


def _command(text: str) -> str:
    """Escaped as GitHub's toolkit escapes the data of a command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
