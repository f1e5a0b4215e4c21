"""What the tools of the MCP server answer: documents of `profiles`, by the name of a run."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from strategy_lab import profiles
from strategy_lab.app.live.hub import run_folder
from strategy_lab.app.live.json_safe import plain
from strategy_lab.app.widgets.runs_folder import RunEntry, list_runs
from strategy_lab.profiles.analysis.compare.document import comparison_document
from strategy_lab.profiles.analysis.compare.run_comparison import compare_sets
from strategy_lab.profiles.errors import LabError
from strategy_lab.profiles.reporting.definitions import DEFINITIONS
from strategy_lab.profiles.reporting.glossary import TERMS
from strategy_lab.profiles.tables.schema import COLUMNS
from strategy_lab.profiles.tables.sql_process import ask

Json = dict[str, Any]
TIMEOUT_S = 20.0
MOST_ROWS = 1000
_FINDINGS = ("segment", "strategy", "num_replicas", "headline", "key_numbers", "findings")


class Answers:
    """Reads the runs of one folder. Every method raises LabError for what cannot be answered."""

    def __init__(self, runs: Path) -> None:
        self.runs = runs

    def load(self, run: str) -> profiles.Profile:
        """Open a run by its name in the runs folder; nothing outside of it can be named."""
        return profiles.load(run_folder(self.runs, run))

    def list_runs(self, limit: int) -> Json:
        """The newest runs, with what was asked and how they ended."""
        found = list_runs(self.runs)
        return {"num_runs": len(found), "runs": [_listed(entry) for entry in found[:limit]]}

    def summary(self, run: str) -> Json:
        """The document of `strategy-lab summary --json`."""
        return _safe(self.load(run).summary())

    def findings(self, run: str) -> Json:
        """What limits each segment: the part of the summary that says it."""
        document = self.load(run).summary(gains=True)
        segments = [{key: each[key] for key in _FINDINGS} for each in document["segments"]]
        kept = {key: document[key] for key in ("run", "status", "status_message", "notes")}
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

    def tables(self) -> Json:
        """The tables that SQL can read, with the type and meaning of each column."""
        return {
            table: [
                {"name": column.name, "type": str(column.kind.type), "about": column.about}
                for column in columns
            ]
            for table, columns in COLUMNS.items()
        }

    def sql(self, run: str, query: str, limit: int) -> Json:
        """At most `limit` rows of one reading statement, run in a sandboxed process."""
        answer = ask(self.load(run), query, timeout_s=TIMEOUT_S, most_rows=limit)
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


def _listed(entry: RunEntry) -> Json:
    created = datetime.fromtimestamp(entry.created_ns / 1e9, UTC)
    document: Json = {
        "run": entry.name,
        "created": created.isoformat(timespec="seconds"),
        "tags": list(entry.tags),
        "spec": entry.spec,
    }
    try:
        status = profiles.load(entry.path).status
    except LabError as error:
        return document | {"status": None, "status_reason": str(error)}
    return document | {"status": status.state, "status_message": status.message}


def _safe(document: Any) -> Json:
    """The document with null for NaN, and as text what JSON cannot hold (SQL's dates, blobs)."""
    return dict(json.loads(json.dumps(plain(document), default=str)))
