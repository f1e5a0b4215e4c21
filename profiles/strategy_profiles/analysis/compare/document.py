"""A comparison of runs as one JSON document: `compare`, `run --repeat` and the MCP server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import asdict

from strategy_profiles.analysis.compare.comparison import CONFIDENCE
from strategy_profiles.analysis.compare.limits import LimitCheck
from strategy_profiles.analysis.compare.run_comparison import ComparedRun, RunComparison
from strategy_profiles.analysis.compare.source_difference import difference


def _side(runs: Sequence[ComparedRun]) -> dict[str, Any]:
    """The first run under the names it had when there was only one, then all of them."""
    return {
        "run": runs[0].name,
        "segment": runs[0].segment,
        "runs": [
            {
                "run": run.name,
                "segment": run.segment,
                "started_ns": run.timed.started_ns,
                **asdict(run.timed.time),
            }
            for run in runs
        ],
    }


def comparison_document(compared: RunComparison, checks: Sequence[LimitCheck]) -> dict[str, Any]:
    """Everything that is known of both sides; see the names of `Comparison` and `RunTime`."""
    return {
        "schema_version": 1,
        "comparable": True,
        "confidence": CONFIDENCE,
        "a": _side(compared.a),
        "b": _side(compared.b),
        "verdict": compared.times.verdict,
        "unit": compared.times.unit,
        "step_time": asdict(compared.times),
        "run_spread": _spread(compared),
        "metrics": [asdict(item) | {"change": item.change} for item in compared.metrics],
        "checks": [
            {
                "limit": check.limit.text,
                "metric": check.limit.metric,
                "a": check.found.a,
                "b": check.found.b,
                "change": check.found.change,
                "beyond": check.is_beyond,
                "remark": check.remark,
            }
            for check in checks
        ],
        "spec_changes": list(compared.spec_changes),
        "changed_lines": difference(compared.a[0].sources, compared.b[0].sources)
        if compared.is_one_program
        else None,
        "explanation": compared.explanation,
        "warnings": list(compared.warnings),
    }


def _spread(compared: RunComparison) -> dict[str, Any] | None:
    """How much runs of these specs differ on this machine; null if no other runs tell it."""
    if compared.spread is None:
        return None
    return asdict(compared.spread) | {"usual_difference": compared.spread.usual_difference}
