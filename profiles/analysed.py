"""A profile that answers questions: what a program holds that opened a run.

    profile = profiles.load("runs/mine")
    profile.table("steps"), profile.sql("select ..."), profile.summary()

The analyses read `store.Profile`; only here do the two meet.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from strategy_lab.profiles.analysis.summary import summarize
from strategy_lab.profiles.tables.store import Profile


class AnalysedProfile(Profile):
    """A Profile with SQL and the summary at hand."""

    def sql(self, query: str) -> pa.Table:
        """The answer to one SELECT over the tables; see `profiles.tables.sql`."""
        from strategy_lab.profiles.tables.sql import run_query  # DuckDB: only who asks pays for it

        return run_query(self, query)

    def summary(self) -> dict[str, Any]:
        """The run in one JSON-ready mapping; see `profiles.analysis.summary`."""
        return summarize(self)


load = AnalysedProfile.load
