"""Several runs drawn together: step time, loss, and the first run beside each other one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from strategy_app.charts import runs as run_charts
from strategy_app.server.opened import open_run
from strategy_app.widgets.evidence import curve
from strategy_app.widgets.links import page_link
from strategy_app.widgets.run_list import row_of
from strategy_app.widgets.runs_folder import RunEntry
from strategy_app.widgets.step_chart import runs_chart
from strategy_app.widgets.table import number, show_table, text
from strategy_app.widgets.text import as_markdown, plain
from strategy_profiles.analysis.compare.each import MOST_RUNS
from strategy_profiles.analysis.run_row import RunRow
from strategy_profiles.reporting import units

MOST = 12
"""The eye cannot follow more lines than these."""


def show_together(selected: Sequence[RunEntry]) -> None:
    """Charts of all selected runs over their steps, and a table of each against the first one."""
    drawn: list[tuple[RunEntry, RunRow]] = []
    left_out: list[str] = []
    for entry in selected[:MOST]:
        row = row_of(entry)
        if isinstance(row, RunRow) and row.num_steps:
            drawn.append((entry, row))
        else:
            left_out.append(as_markdown(entry.name, 60))
    if len(selected) > MOST:
        st.caption(f"The first {MOST} of {len(selected)} selected runs are drawn.")
    if left_out:
        st.caption(f"Without a step: {', '.join(left_out)}")
    if not drawn:
        return
    left, right = st.columns(2)
    for container, column, title in ((left, "wall_ms", "Step time"), (right, "loss", "Loss")):
        curves = {entry.name: open_run(entry.path).ask(curve, column) for entry, _ in drawn}
        with container:
            st.header(title)
            if not any(np.isfinite(values).any() for _, values in curves.values()):
                st.markdown("None of these runs recorded it.")
                continue
            unit = "ms" if column == "wall_ms" else ""
            chart = run_charts.together(curves, title=title.lower(), unit=unit)
            runs_chart(
                {entry.name: open_run(entry.path) for entry, _ in drawn},
                chart,
                key=f"together_{column}",
                alt=f"{title} of each selected run",
            )
    _show_table([(entry.name, row) for entry, row in drawn])
    if len(drawn) > 1:
        _link_to_compare([entry.name for entry, _ in drawn])


def _show_table(rows: Sequence[tuple[str, RunRow]]) -> None:
    first = rows[0][1]
    show_table(
        "together_table",
        rows,
        {
            "Run": text("Run", lambda row: plain(row[0], 80)),
            "Loop, ms": number("Loop per step, ms", lambda row: row[1].loop_ms, format="%.2f"),
            "Loop against the first": number(
                "Loop against the first",
                lambda row: _ratio(row[1].loop_ms, first.loop_ms),
                format="%.2f×",
            ),
            "Examples/s": number(
                "Examples/s",
                lambda row: units.rounded(row[1].examples_per_second),
                format="localized",
            ),
            "Examples/s against the first": number(
                "Examples/s against the first",
                lambda row: _ratio(row[1].examples_per_second, first.examples_per_second),
                format="%.2f×",
            ),
            "Step, ms": number("Step, ms", lambda row: row[1].step_ms, format="%.2f"),
            "Last loss": number("Last loss", lambda row: row[1].last_loss, format="%.4g"),
        },
    )
    st.caption("Single runs. Compare says whether a difference is more than noise.")


def _ratio(value: float | None, first: float | None) -> float | None:
    return value / first if value is not None and first else None


def _link_to_compare(names: Sequence[str]) -> None:
    """Link to all of them, up to what Compare takes; those after the second are against A, too."""
    a, b, *more = names[:MOST_RUNS]
    which = "these runs" if len(names) <= MOST_RUNS else f"the first {MOST_RUNS}"
    page_link("compare", f"Compare {which}", query={"a": a, "b": b, "each": more})
