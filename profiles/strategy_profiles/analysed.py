"""A profile that answers questions: what a program holds that opened a run.

    profile = strategy_profiles.load("runs/mine")
    profile.table("steps"), profile.sql("select ..."), profile.summary()
    profile                     # in a notebook: the report, below the cell

The analyses read `store.Profile`; only here do the two meet.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from strategy_profiles.tables.store import Profile

_FRAME_HEIGHT_PX = 720


class AnalysedProfile(Profile):
    """A Profile with SQL and the summary at hand."""

    def sql(self, query: str) -> pa.Table:
        """The answer to one SELECT over the tables; see `strategy_profiles.tables.sql`.

        DuckDB runs it in this process, without a limit of time and with 1 GB for its operators.
        `strategy-lab sql` and the page use a process with limits (docs/security.md).
        """
        from strategy_profiles.tables.sql import run_query  # DuckDB: only who asks pays for it

        return run_query(self, query)

    def summary(self, *, gains: bool = False) -> dict[str, Any]:
        """The run in one JSON-ready mapping; see `strategy_profiles.analysis.summary`.

        Args:
          gains: also what a step would gain without each finding, if a package predicts it.
        """
        from strategy_profiles.analysis.summary import summarize  # and all rules of advice

        if not gains:
            return summarize(self)
        from strategy_profiles.predictors import gain_of

        return summarize(self, lambda finding: gain_of(self, finding))

    def _repr_html_(self) -> str | None:
        """The report, as a notebook shows a profile that is the last value of a cell.

        None, for its line of text, where no package writes the report.

        A frame keeps the report's styles and scripts apart from the notebook: sandboxed, it reaches
        neither the notebook nor the network.
        """
        from html import escape

        from strategy_profiles.exports import download, formats

        if "html" not in formats():
            return None
        report = download(self, "html").data.decode()
        return (
            f'<iframe title="Report of {escape(self.name)}" sandbox="allow-scripts '
            f'allow-downloads" style="width:100%;height:{_FRAME_HEIGHT_PX}px;border:0" '
            f'srcdoc="{escape(report)}"></iframe>'
        )


load = AnalysedProfile.load
