"""The table of runs: status, what was asked, how fast, when. A click on a row chooses a run."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd
import streamlit as st

from strategy_app.server.opened import open_run
from strategy_app.widgets.run_filter import GROUPS
from strategy_app.widgets.runs_folder import RunEntry
from strategy_app.widgets.table import PAGE_PX, fitted_px, height_px, letters_in
from strategy_app.widgets.text import as_html, as_markdown, plain, run_name
from strategy_profiles.analysis.compare.run_spread import keep_step_times
from strategy_profiles.analysis.run_row import RunRow, run_row
from strategy_profiles.cache import KeptNewest
from strategy_profiles.errors import LabError, RunFolderError
from strategy_profiles.reporting import units
from strategy_profiles.reporting.definitions import DEFINITIONS
from strategy_profiles.reporting.glossary import TERMS
from strategy_profiles.run.stamp import stamp_of

_logger = logging.getLogger(__name__)
PAGE_ROWS = 25
MAX_ROWS_KEPT = 1000
"""Rows stay in memory for longer than their runs: a folder has more runs than `server.opened` keeps
open, and each click on the page draws the list again."""
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
    # Not pinned: Streamlit would write the name in grey.
    "run": st.column_config.TextColumn("Run"),
    "status": st.column_config.TextColumn("Status"),
    "tags": st.column_config.ListColumn("Tags"),
    "strategy": st.column_config.TextColumn("Strategy"),
    "workload": st.column_config.TextColumn(
        "Workload", help="A workload, or the file of a recorded program."
    ),
    "workers": st.column_config.NumberColumn("Workers", width=65, help=TERMS["worker"]),
    "replicas": st.column_config.NumberColumn("Replicas", width=65, help=TERMS["replica"]),
    "steps": st.column_config.NumberColumn(
        "Steps", width=65, format="localized", help=TERMS["step"]
    ),
    "loop_ms": st.column_config.NumberColumn(
        "Loop, ms", width=80, format="%.2f", help=f"Per step. {DEFINITIONS['loop_time'].text}"
    ),
    "throughput": st.column_config.NumberColumn(
        "Examples/s", width=85, format="localized", help=DEFINITIONS["loop_throughput"].text
    ),
    "step_ms": st.column_config.NumberColumn(
        "Step, ms", width=75, format="%.2f", help=DEFINITIONS["step_time"].text
    ),
    "spark": st.column_config.AreaChartColumn(
        "Trend", width=75, y_min=0, help="Step time: median of each part of the run, in ms."
    ),
    # The longest, 0.000001234: a smaller one has an exponent.
    "loss": st.column_config.NumberColumn("Last loss", width=93, format="%.4g"),
    "when": st.column_config.TextColumn("Started"),
    "devices": st.column_config.TextColumn("Devices"),
    "batch": st.column_config.NumberColumn(
        "Global batch", width=85, format="localized", help=TERMS["global batch"]
    ),
    "algorithm": st.column_config.TextColumn("Algorithm"),
    "loop": st.column_config.TextColumn("Loop"),
    "seed": st.column_config.NumberColumn("Seed", width=65),
}
"""A column of words has no width here: that depends on its words (`_configs`)."""
DIVERGED = 1e7
"""A loss from here on is written as text: the grid has no powers of ten."""
LEAST_PX = 95
"""So wide is a column of words at least: its title has a help mark."""
MORE_PX = 40
"""By so much a name is wider than the longest other words before it is cut as well."""
USUAL = (
    "status",
    "tags",
    "strategy",
    "workload",
    "steps",
    "loop_ms",
    "throughput",
    "step_ms",
    "spark",
    "loss",
    "when",
)
"""Columns that are shown until others are chosen, those that a run on the page has a value of. The
strategy is beside its number of replicas.

They fit 1280 px. The name is always shown.
"""


def show_runs(runs: Sequence[RunEntry], group: str | None = None) -> list[RunEntry]:
    """Draw a page of the list, a table per group, and return the runs whose rows are selected."""
    pages = -(-len(runs) // PAGE_ROWS)
    head = st.container(horizontal=True, vertical_alignment="center")
    page = 1
    with head.container(horizontal=True, vertical_alignment="center", key="wide_runs_head"):
        with st.popover("Columns"):
            columns = ["run", *pick_columns()]
        how = (
            ". Select a row, then Why above; several are drawn together." if len(runs) > 1 else "."
        )
        st.caption(f"{units.counted(len(runs), 'run')}{how}")
    if pages > 1:
        with head:
            page = _pick_page(pages)
    on_page = runs[(page - 1) * PAGE_ROWS : page * PAGE_ROWS]
    rows = {entry.name: _row(entry, time.time_ns()) for entry in on_page}
    known = {name for row in rows.values() for name, value in row.items() if value is not None}
    columns = [name for name in columns if name in known]
    if group is None:
        return _table(on_page, rows, columns, f"{page}")
    selected = []
    for value, members in groupby(on_page, GROUPS[group]):
        same = list(members)
        num = sum(GROUPS[group](entry) == value for entry in runs)
        part = f"{len(same)} of " if len(same) < num else ""
        num_text = f"{part}{units.counted(num, 'run')}{_spread(same)}"
        st.markdown(f"**{group.capitalize()}: {as_markdown(value)}** · {num_text}")
        selected += _table(same, rows, columns, f"{page}_{group}_{value}")
    return selected


def _pick_page(pages: int) -> int:
    page: int = st.selectbox(
        "Page",
        range(1, pages + 1),
        format_func=lambda number: f"Page {number} of {pages}",
        key="runs_page_number",
        label_visibility="collapsed",
        width=160,
    )
    return page


def pick_columns() -> list[str]:
    """The columns to show, in the order of `COLUMNS`."""
    titles = {name: str(config["label"]) for name, config in COLUMNS.items()}
    chosen = st.pills(
        "Columns",
        [name for name in COLUMNS if name != "run"],
        selection_mode="multi",
        default=USUAL,
        format_func=titles.__getitem__,
        key="runs_columns",
        label_visibility="collapsed",
    )
    return [name for name in COLUMNS if name in chosen]


def _table(
    runs: Sequence[RunEntry],
    known: Mapping[str, Mapping[str, Any]],
    columns: Sequence[str],
    name: str,
) -> list[RunEntry]:
    rows = [known[entry.name] for entry in runs]
    with st.container(key=f"narrow_runs_{name}"):
        st.html("".join(_link(entry, row) for entry, row in zip(runs, rows, strict=True)))
    key = f"runs_table_{name}"
    configs = _configs(rows, columns)
    cells = pd.DataFrame(rows, columns=list(COLUMNS)).assign(
        run=_short([row["run"] for row in rows], configs["run"]["width"])
    )
    losses = [row.get("loss") for row in rows]
    if any(abs(loss or 0) >= DIVERGED for loss in losses):
        configs["loss"] = st.column_config.TextColumn("Last loss", width=configs["loss"]["width"])
        cells["loss"] = [None if loss is None else f"{loss:.4g}" for loss in losses]
    event = st.container(key=f"wide_runs_{name}").dataframe(
        cells,
        column_config=configs,
        column_order=columns,
        hide_index=True,
        placeholder="–",
        on_select=partial(_choose, key, runs),
        selection_mode="multi-row",
        key=key,
        height=height_px(len(runs), 10),
    )
    return [runs[row] for row in event.selection.rows if row < len(runs)] if event else []


def _choose(table: str, runs: Sequence[RunEntry]) -> None:
    """A click on a row chooses its run, until the select box chooses another one."""
    match st.session_state[table].selection.rows:
        case [row] if row < len(runs):
            st.query_params["run"] = runs[row].name


def _short(names: Sequence[str], width_px: int) -> list[str]:
    """Names as their column has space for: without their middle, or their beginning if alike."""
    limit = letters_in(width_px)
    short = [plain(name, limit) for name in names]
    num = Counter(short)
    return [
        one if num[one] == 1 else f"…{name[1 - limit :]}"
        for one, name in zip(short, names, strict=True)
    ]


def _configs(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> dict[str, Any]:
    """Words have the room that numbers leave at 1280 px; if it is too little, the longest are cut.

    Streamlit's grid has no tooltips for cells: a double click shows all of a cell.
    """
    room_px = PAGE_PX - sum(COLUMNS[name]["width"] or 0 for name in columns)
    words = {
        name: max(LEAST_PX, *(fitted_px(len(_text(row.get(name)))) for row in rows))
        for name in columns
        if COLUMNS[name]["width"] is None
    }
    while sum(words.values()) > room_px and max(words.values()) > LEAST_PX:
        words[max(words, key=lambda name: words[name] - MORE_PX * (name == "run"))] -= 1
    return COLUMNS | {name: COLUMNS[name] | {"width": px} for name, px in words.items()}


def _text(value: object) -> str:
    return "  ".join(value) if isinstance(value, list) else str(value or "")


def _link(entry: RunEntry, row: Mapping[str, Any]) -> str:
    """For a phone: the run's name, which leads to its page Why, and below it what tells it."""
    loop = row.get("loop_ms")
    parts = (
        row["status"],
        row["strategy"],
        None if loop is None else f"{units.milliseconds(loop)} a step",
        row["when"],
    )
    line = " · ".join(as_html(part) for part in parts if part)
    address = f"overview?run={quote(entry.name, safe='')}"
    name = f'<a href="{as_html(address)}" style="color:inherit">{as_html(row["run"])}</a>'
    return f"<p>{name}<br>{line}</p>"


def _spread(runs: Sequence[RunEntry]) -> str:
    """The range of the loops' times: ` · loop per step 12.1 to 15 ms`; empty if unknown."""
    rows = [row_of(entry) for entry in runs]
    times = [one.loop_ms for one in rows if isinstance(one, RunRow) and one.loop_ms is not None]
    if not times:
        return ""
    low, high = min(times), max(times)
    span = f"{units.number(low)} to " if len(times) > 1 else ""
    return f" · loop per step {span}{units.milliseconds(high)}"


def row_of(entry: RunEntry) -> RunRow | LabError:
    """The run's one line, or what is wrong with its folder."""
    try:
        return _recorded_row(entry.path)
    except LabError as error:
        return error
    except Exception as error:
        # The other runs of the list, and the button that deletes this one, must not go with it.
        _logger.exception("The run %s cannot be read", entry.path)
        return RunFolderError(f"This run cannot be read ({type(error).__name__})")


def _recorded_row(path: Path) -> RunRow:
    stamp = stamp_of(path)

    def read() -> RunRow:
        opened = open_run(path)
        keep_step_times(opened.profile, stamp)
        return opened.ask(run_row)

    row = _rows.get(str(path), stamp, read)
    # Whether a process still lives is no part of the files.
    return row if row.status.is_over else open_run(path).ask(run_row)


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
    recorded = row_of(entry)
    row: dict[str, Any] = {
        "run": run_name(entry.name, 80),
        "when": since(entry.created_ns, now_ns),
        "tags": [plain(tag) for tag in entry.tags] or None,
    }
    if isinstance(recorded, LabError):
        return row | {"status": "✕ unreadable", "strategy": plain(recorded, 120)}
    spec = entry.spec or {}
    strategy = spec.get("strategy", "")
    return row | {
        "status": DAMAGED if entry.is_damaged else STATUS_MARKS[recorded.status.state],
        "strategy": plain(" → ".join(recorded.strategies) or strategy, 80),
        "workload": plain(entry.workload or "", 40) or None,
        "workers": recorded.num_workers,
        "replicas": recorded.num_replicas,
        "steps": recorded.num_steps,
        "loop_ms": recorded.loop_ms,
        "step_ms": recorded.step_ms,
        "spark": list(recorded.spark_ms) if len(recorded.spark_ms) > 1 else None,
        "throughput": units.rounded(recorded.examples_per_second),
        "loss": recorded.last_loss,
        "devices": plain(spec.get("devices") or "", 40) or None,
        "batch": recorded.global_batch_size,
        "algorithm": plain(spec.get("cross_device_ops") or "", 40) or None,
        "loop": plain(spec.get("loop") or "", 40) or None,
        "seed": spec.get("seed"),
    }


_rows: KeptNewest[RunRow] = KeptNewest(lambda _row: 1, MAX_ROWS_KEPT, MAX_ROWS_KEPT)
