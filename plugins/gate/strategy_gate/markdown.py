"""A gate's outcome as Markdown for a job summary or a comment: `$GITHUB_STEP_SUMMARY` takes it."""

from __future__ import annotations

from collections.abc import Sequence

from strategy_gate.report import GateReport
from strategy_gate.text import (
    Row,
    exact_rows,
    head,
    open_questions,
    remarks,
    time_rows,
)
from strategy_profiles.reporting.markdown import as_text, code_block

_MARKS = {
    "beyond": "❌ beyond",
    "better": "✅ better",
    "within": "within",
    "undecided": "❔ undecided",
    "unknown": "❔ unknown",
}


def markdown(report: GateReport, least: float, accept: str) -> str:
    """The page; `accept` is the command that accepts these runs."""
    rows = [*exact_rows(report), *time_rows(report)]
    listed = [row for row in rows if row.outcome != "within" or row.name == "step"]
    hidden = [row for row in rows if row not in listed]
    parts = [f"### Strategy Lab: {as_text(head(report))}"]
    parts += [_table(listed)] if listed else []
    parts += [f"- {as_text(text)}" for text in open_questions(report)]
    parts += [as_text(text) for text in remarks(report, least)]
    if report.can_be_accepted:
        parts.append(f"To accept these runs:\n\n{code_block(accept)}")
    if hidden:
        summary = f"<summary>{len(hidden)} checks within</summary>"
        parts.append(f"<details>{summary}\n\n{_table(hidden)}\n\n</details>")
    return "\n\n".join(parts) + "\n"


def _table(rows: Sequence[Row]) -> str:
    lines = ["| check | accepted | found | change | |", "| --- | ---: | ---: | ---: | --- |"]
    for row in rows:
        mark = _MARKS[row.outcome] + (f": {row.reason}" if row.reason else "")
        cells = (row.name, row.accepted, row.found, row.change, mark)
        lines.append(f"| {' | '.join(as_text(cell) for cell in cells)} |")
    return "\n".join(lines)
