"""What the tools of the MCP server answer: documents of `strategy_profiles`, by the name of a
run."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

import strategy_profiles
from strategy_app.live.hub import run_folder
from strategy_app.live.json_safe import plain
from strategy_app.widgets.runs_folder import RunEntry, list_runs
from strategy_profiles.analysis.compare.document import comparison_document
from strategy_profiles.analysis.compare.run_comparison import compare_sets
from strategy_profiles.errors import LabError
from strategy_profiles.reporting.definitions import DEFINITIONS
from strategy_profiles.reporting.glossary import TERMS
from strategy_profiles.tables.reference import ROWS, type_name
from strategy_profiles.tables.schema import COLUMNS, Column
from strategy_profiles.tables.sql_process import run_query

Json = dict[str, Any]
TIMEOUT_S = 20.0
MOST_ROWS = 1000
ALL = "all"
_DETAILS = (
    "environment",
    "clocks",
    "account",
    "key_numbers",
    "findings",
    "epoch_ends",
    "cores",
    "tpu_check",
    "links",
    "parameter_servers",
    "placement",
    "input_stages",
    "step_memory",
    "capture",
)
"""Entries of a summary that are long and that few questions need: two thirds of its length."""
_FINDINGS = (
    "segment", "strategy", "num_replicas", "headline", "loop", "key_numbers", "findings",
)  # fmt: skip


class Answers:
    """Reads the runs of one folder. Every method raises LabError for what cannot be answered."""

    def __init__(self, runs: Path) -> None:
        self.runs = runs

    def load(self, run: str) -> strategy_profiles.Profile:
        """Open a run by its name in the runs folder; nothing outside of it can be named."""
        return strategy_profiles.load(run_folder(self.runs, run))

    def list_runs(self, limit: int) -> Json:
        """The newest runs, with what was asked and how they ended."""
        runs = list_runs(self.runs)
        return {"num_runs": len(runs), "runs": [_listed(entry) for entry in runs[:limit]]}

    def summary(self, run: str, details: list[str]) -> Json:
        """The document of `strategy-lab summary --json`, of its `_DETAILS` only those asked for.

        `left_out` names the others that the run has. Null ones stay, with their short reasons.
        """
        if unknown := [name for name in details if name not in (*_DETAILS, ALL)]:
            raise LabError(
                f"A summary has no detail {unknown[0][:80]!r}",
                advice=f"Choose among {', '.join(_DETAILS)}, or {ALL}",
            )
        document = _safe(self.load(run).summary())
        if ALL in details:
            return document
        left_out = set()
        for part in (document, *document["segments"]):
            for name in set(_DETAILS) - set(details):
                if part.get(name):
                    del part[name]
                    left_out.add(name)
        return document | {"left_out": [name for name in _DETAILS if name in left_out]}

    def findings(self, run: str) -> Json:
        """What limits each segment: the part of the summary that says it."""
        document = self.load(run).summary(gains=True)
        segments = [{key: each[key] for key in _FINDINGS} for each in document["segments"]]
        of_run = ("run", "status", "status_message", "headline", "notes")
        kept = {key: document[key] for key in of_run}
        return _safe({**kept, "segments": segments})

    def definitions(self, about: str) -> Json:
        """The figures and words whose name or text contains `about`; all for an empty text."""
        word = about.casefold()
        figures = [
            asdict(item)
            for item in DEFINITIONS.values()
            if word in f"{item.key} {item.label} {item.text}".casefold()
        ]
        terms = {term: text for term, text in TERMS.items() if word in f"{term} {text}".casefold()}
        if not figures and not terms:
            raise LabError(
                f"No definition mentions {about!r}", advice="Leave `about` empty for all of them"
            )
        return {"figures": figures, "terms": terms}

    def tables(self, table: str, run: str) -> Json:
        """The tables that SQL can read, or the columns of one. With a run, the numbers of rows."""
        if table and table not in COLUMNS:
            raise LabError(
                f"There is no table {table[:80]!r}", advice=f"Choose one of {', '.join(COLUMNS)}"
            )
        profile = self.load(run) if run else None
        document: Json = {}
        for name in [table] if table else COLUMNS:
            entry: Json = {"one_row_per": ROWS[name]}
            if profile is not None:
                entry["num_rows"] = sum(
                    profile.parts(name, [COLUMNS[name][0].name], lambda part: part.num_rows)
                )
            if table:
                entry["columns"] = [_column(column) for column in COLUMNS[name]]
            document[name] = entry
        return document

    def sql(self, run: str, query: str, limit: int) -> Json:
        """At most `limit` rows of one reading statement, run in a sandboxed process."""
        answer = run_query(self.load(run), query, timeout_s=TIMEOUT_S, most_rows=limit)
        rows = answer.rows.to_pylist()
        return {
            "columns": answer.rows.column_names,
            "rows": [_safe(row) for row in rows],
            "is_cut": answer.is_cut,
        }

    def compare(self, a: list[str], b: list[str]) -> Json:
        """The document of `strategy-lab compare --json`."""
        sides = [[self.load(run) for run in runs] for runs in (a, b)]
        return _safe(comparison_document(compare_sets(*sides), []))


def _column(column: Column) -> Json:
    known: Json = {"name": column.name, "type": type_name(column)}
    if column.kind.unit:
        known["unit"] = column.kind.unit
    if column.about:
        known["about"] = column.about
    return known if column.kind.is_required else known | {"may_be_null": True}


def _listed(entry: RunEntry) -> Json:
    created = datetime.fromtimestamp(entry.created_ns / 1e9, UTC)
    document: Json = {
        "run": entry.name,
        "created": created.isoformat(timespec="seconds"),
        "tags": list(entry.tags),
        "spec": entry.spec,
    }
    try:
        status = strategy_profiles.load(entry.path).status
    except LabError as error:
        return document | {"status": None, "status_reason": str(error)}
    return document | {"status": status.state, "status_message": status.message}


def _safe(document: Any) -> Json:
    """The document with null for NaN, and as text what JSON cannot hold (SQL's dates, blobs)."""
    return dict(json.loads(json.dumps(plain(document), default=str)))
