"""The outcome of a gate as one JSON document."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from strategy_lab.profiles.gate.report import EXIT_CODES, GateReport
from strategy_lab.profiles.gate.text import open_questions


def gate_document(report: GateReport, accept: str) -> dict[str, Any]:
    """Every check; see the names of `ExactCheck` and `TimeCheck`."""
    times = report.times
    return {
        "schema_version": 1,
        "outcome": report.outcome,
        "exit_code": EXIT_CODES[report.outcome],
        "runs": list(report.runs),
        "exact": [asdict(check) for check in report.exact],
        "times": [asdict(check) for check in times.checks] if times else None,
        "num_runs": list(times.num_runs) if times else None,
        "in_turns": times.is_paired if times else None,
        "open_questions": open_questions(report),
        "notes": list(report.notes),
        "better": report.is_better,
        "accept": accept,
    }
