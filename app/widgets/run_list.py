"""The table of all runs: status, what was asked, how fast, when. A click on a row chooses a run."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from strategy_lab.app.widgets.opened import open_run
from strategy_lab.app.widgets.runs_folder import RunEntry
from strategy_lab.app.widgets.text import plain, workload_name
from strategy_lab.profiles.analysis.glance import Glance, glance
from strategy_lab.profiles.errors import LabError, RunFolderError
from strategy_lab.profiles.reporting.glossary import TERMS

_logger = logging.getLogger(__name__)
PAGE_ROWS = 25
STATUS_MARKS = {
    "running": "▶ running",
    "finished": "✓ finished",
    "stopped": "■ stopped",
    "failed": "✕ failed",
    "incomplete": "◌ incomplete",
}
DAMAGED = "✕ damaged"
"""Label of a run whose `run.json` cannot be read. Its pages show the rest of it."""
COLUMNS = {
    "run": st.column_config.TextColumn("Run", width=270, pinned=True),
    "status": st.column_config.TextColumn("Status", width=95),
    "strategy": st.column_config.TextColumn("Strategy", width=170),
    "workload": st.column_config.TextColumn("Workload", width="small"),
    "workers": st.column_config.NumberColumn("Workers", width=65, help=TERMS["worker"]),
    "replicas": st.column_config.NumberColumn("Replicas", width=65, help=TERMS["replica"]),
    "steps": st.column_config.NumberColumn(
        "Steps", width=65, format="localized", help=TERMS["step"]
    ),
    "step_ms": st.column_config.NumberColumn(
        "Step, ms", width=75, format="%.2f", help="Median wall time of a step, in ms."
    ),
    "spark": st.column_config.AreaChartColumn(
        "Step time over the run", width=150, y_min=0, help="Median of each part of the run, in ms."
    ),
    "loss": st.column_config.NumberColumn("Last loss", width="small", format="%.4g"),
    "when": st.column_config.TextColumn("Started", width=130),
}


def show_runs(runs: Sequence[RunEntry], *, now_ns: int | None = None) -> RunEntry | None:
    """Draw a page of the list; the run whose row was clicked, if any."""
    pages = -(-len(runs) // PAGE_ROWS)
    page = 1
    if pages > 1:
        page = int(
            st.number_input(f"Page, of {pages}", 1, pages, 1, key="runs_page_number", width=160)
        )
    shown = runs[(page - 1) * PAGE_ROWS : page * PAGE_ROWS]
    now = time.time_ns() if now_ns is None else now_ns
    event = st.dataframe(
        pd.DataFrame([_row(entry, now) for entry in shown], columns=list(COLUMNS)),
        column_config=COLUMNS,
        hide_index=True,
        placeholder="–",
        on_select="rerun",
        selection_mode="single-row",
        key=f"runs_table_{page}",
        height=min(38 + 35 * len(shown), 38 + 35 * 10),
    )
    rows = event.selection.rows if event else []
    return shown[rows[0]] if rows and rows[0] < len(shown) else None


def glance_at(entry: RunEntry) -> Glance | LabError:
    """The run's one line, or what is wrong with its folder."""
    try:
        return open_run(entry.path).ask(glance)
    except LabError as error:
        return error
    except Exception as error:
        # The other runs of the list, and the button that deletes this one, must not go with it.
        _logger.exception("The run %s cannot be read", entry.path)
        return RunFolderError(f"This run cannot be read ({type(error).__name__})")


def since(then_ns: int, now_ns: int) -> str:
    """How long ago, for people: `just now`, `5 min ago`, `3 h ago`, else the date."""
    minutes = (now_ns - then_ns) / 60e9
    if minutes < 1:
        return "just now"
    if minutes < 60:
        return f"{minutes:.0f} min ago"
    if minutes < 24 * 60:
        return f"{minutes / 60:.0f} h ago"
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(then_ns / 1e9))


def _row(entry: RunEntry, now_ns: int) -> dict[str, Any]:
    found = glance_at(entry)
    row: dict[str, Any] = {
        "run": plain(entry.name, 80),
        "when": since(entry.created_ns, now_ns),
    }
    if isinstance(found, LabError):
        return row | {"status": "✕ unreadable", "strategy": plain(found, 120)}
    asked = (entry.spec or {}).get("strategy", "")
    return row | {
        "status": DAMAGED if entry.is_damaged else STATUS_MARKS[found.status.state],
        "strategy": plain(" → ".join(found.strategies) or asked, 80),
        "workload": plain(workload_name(found.workload or ""), 40),
        "workers": found.num_workers,
        "replicas": found.num_replicas,
        "steps": found.num_steps,
        "step_ms": found.step_ms,
        "spark": list(found.spark_ms) if len(found.spark_ms) > 1 else None,
        "loss": found.last_loss,
    }
