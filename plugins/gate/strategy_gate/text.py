"""A gate's outcome in words: the same for the terminal, the job summary and the annotations."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TypeVar

from msgspec import Struct

from strategy_gate.checks import ExactCheck
from strategy_gate.exact import Value
from strategy_gate.report import GateReport
from strategy_gate.time_checks import TimeCheck, Times, planned
from strategy_profiles.analysis.compare.text import TOO_MANY
from strategy_profiles.reporting import units
from strategy_profiles.reporting.natural_order import natural

_Check = TypeVar("_Check", ExactCheck, TimeCheck)
_HEADS = {
    "within": "Within the baseline",
    "beyond": "Beyond the baseline",
    "undecided": "Cannot tell",
}
_SHOWN_FIRST = ("beyond", "better", "unknown", "undecided", "within")


class Row(Struct, frozen=True):
    """One check as cells of text."""

    name: str
    accepted: str
    found: str
    change: str
    outcome: str
    reason: str | None


def head(report: GateReport) -> str:
    """`Beyond the baseline: 2 of 31 checks (digits-cnn, mirrored; 6 runs).`"""
    rows = [*exact_rows(report), *time_rows(report)]
    kinds = {"within": (), "beyond": ("beyond",), "undecided": ("undecided", "unknown")}
    which = [row for row in rows if row.outcome in kinds[report.outcome]]
    count = f"{len(which)} of {units.counted(len(rows), 'check')}"
    if report.outcome == "within":
        count = units.counted(len(rows), "check")
    runs = units.counted(len(report.runs), "run")
    return f"{_HEADS[report.outcome]}: {count} ({report.title}; {runs})."


def exact_rows(report: GateReport) -> list[Row]:
    """The exact checks, those that are not within first."""
    return [_exact_row(check) for check in _in_order(report.exact)]


def time_rows(report: GateReport) -> list[Row]:
    """The time checks: the step, then its parts, those that are not within first."""
    if report.times is None:
        return []
    step, *parts = report.times.checks
    return [_time_row(check) for check in (step, *_in_order(parts))]


def failures(report: GateReport) -> list[str]:
    """A sentence for each check that is beyond."""
    rows = [row for row in (*exact_rows(report), *time_rows(report)) if row.outcome == "beyond"]
    return [f"{row.name}: {row.found}, accepted {row.accepted} ({row.change})" for row in rows]


def open_questions(report: GateReport) -> list[str]:
    """Why the gate cannot tell, and what would let it."""
    questions = [
        f"{row.name} of run {check.run}: {row.reason}. Record runs in which it is known."
        for check, row in zip(_in_order(report.exact), exact_rows(report), strict=True)
        if check.outcome == "unknown"
    ]
    if report.times is not None and report.times.step.outcome == "undecided":
        questions.append(_undecided_step(report.times))
    return questions


def remarks(report: GateReport, least: float) -> list[str]:
    """What a reader has to know about the checks."""
    return [text for text in (_planning(report, least), _parts(report), *report.notes) if text]


def accept_command(runs: Sequence[str], file: str) -> str:
    """The command that accepts these runs (paths) as the baseline.

    A shell's pattern gives them in the order of text, `x-a-10` before `x-a-2`.
    """
    in_order = shlex.join(sorted(runs, key=natural))
    return f"strategy-lab baseline {in_order} -o {shlex.quote(file)}"


def _planning(report: GateReport, least: float) -> str:
    """How many repetitions the checks have and need; empty if no times were checked."""
    times = report.times
    if times is None or times.step.low is None or times.step.runs_needed is None:
        return ""
    num = min(times.num_runs)
    how = "recorded alternately" if times.is_paired else "not recorded alternately"
    text = (
        f"{num} runs a side, {how}. To find a growth of the step of {100 * planned(least):.0f} % "
        f"with 90 % probability takes {times.step.runs_needed:,}"
    )
    needed = [c.runs_needed for c in times.checks[1:] if c.runs_needed is not None]
    if needed:
        text += f"; to find as much in every one of its {len(needed)} parts, {max(needed):,}"
    return f"{text}."


def _parts(report: GateReport) -> str:
    """Why the parts of a step do not add up to it; empty if no part was checked."""
    if report.times is None or len(report.times.checks) < 2:
        return ""
    return (
        "The step is the median of all steady steps; each part is a mean, of the captured steps if "
        "there are any. So parts do not add up to the step."
    )


def _undecided_step(times: Times) -> str:
    step = times.step
    text = f"Step time: {step.reason}."
    if step.runs_needed is not None and step.runs_needed > TOO_MANY:
        return (
            f"{text} It would take {step.runs_needed:,} runs a side: first find out why runs of "
            "one spec differ so much (other programs on the machine, short runs). To check only "
            "what does not vary, give --only exact."
        )
    number = "more" if step.runs_needed is None else f"{step.runs_needed:,}"
    return (
        f"{text} Record {number} runs a side, in turns: strategy-lab run SPEC --interleave OTHER "
        "--repeat auto records as many as it takes. To check only what does not vary, give "
        "--only exact."
    )


def _in_order(checks: Sequence[_Check]) -> list[_Check]:
    return sorted(checks, key=lambda check: _SHOWN_FIRST.index(check.outcome))


def _exact_row(check: ExactCheck) -> Row:
    size = "bytes" in check.name
    return Row(
        name=f"{check.group}: {check.name}",
        accepted=_value(check.accepted, size),
        found=_value(check.found, size),
        change=_change(check.accepted, check.found),
        outcome=check.outcome,
        reason=check.reason,
    )


def _value(value: Value, is_size: bool) -> str:
    if value is None or isinstance(value, str):
        return value or units.MISSING
    if is_size:
        return units.size(value)
    return f"{value:,.0f}" if value == round(value) else units.number(value)


def _change(accepted: Value, value: Value) -> str:
    if not isinstance(accepted, int | float) or not isinstance(value, int | float):
        return "" if accepted == value else "differs"
    if accepted == value:
        return ""
    return units.change_between(accepted, value) if accepted else "new"


def _time_row(check: TimeCheck) -> Row:
    change = f"{units.change(check.growth)} of the step"
    if check.low is not None and check.high is not None:
        change += f" ({units.change(check.low)} to {units.change(check.high)})"
    reason = None
    if check.outcome == "undecided" and check.runs_needed is not None:
        reason = f"needs {check.runs_needed:,} runs"
    return Row(
        name=check.name,
        accepted=units.milliseconds(check.accepted_ms),
        found=units.milliseconds(check.found_ms),
        change=change,
        outcome=check.outcome,
        reason=reason,
    )
