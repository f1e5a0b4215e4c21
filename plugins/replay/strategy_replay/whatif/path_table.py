"""The critical path of a step as a table by kind, with links from a kind to its spans."""

from __future__ import annotations

import streamlit as st

from strategy_app.screen.table import show_table
from strategy_app.server import state
from strategy_app.server.opened import OpenRun
from strategy_app.widgets.links import page_link
from strategy_app.widgets.text import as_markdown
from strategy_profiles.reporting import units
from strategy_profiles.step_graph.critical_path import GAPS
from strategy_profiles.tables.store import Profile
from strategy_profiles.timeline import Timeline
from strategy_profiles.timeline.critical_path import PathPart, path_of_step
from strategy_replay.engine.path_shares import PathShare, path_table
from strategy_replay.engine.replays import replays
from strategy_replay.whatif.predictions import MOST_KINDS, critical_path

_MOST_LINKS = 5
_LEAST_MARGIN_NS = 100_000


def show_path(opened: OpenRun, segment: int) -> None:
    """Draw the section; the row that is selected has links to the timeline below the table."""
    shares = opened.ask(_path, segment)
    table = critical_path(shares)
    st.header(table.title, help=table.hint)
    row = show_table(table, chooses=True)
    st.caption("Select a row to open its spans on the timeline, which has the slack of each op.")
    if row is not None and row < MOST_KINDS:
        _show_links(opened, segment, shares[row])


def _show_links(opened: OpenRun, segment: int, share: PathShare) -> None:
    run = opened.profile.path.name
    timeline = state.lab().timelines.get(run)
    parts = [
        part
        for part in path_of_step(opened.profile, timeline, opened.ask(_step, segment))
        if part.kind == share.kind and share.op in ("", part.op)
    ]
    drawn = [part for part in parts if part.row is not None]
    drawn.sort(key=lambda part: part.from_ns - part.to_ns)
    for part in drawn[:_MOST_LINKS]:
        page_link("timeline", _label(timeline, part), query={"run": run, **_address(part)})
    if not drawn:
        st.caption("The timeline has no span for these: they are waits of the host.")


def _label(timeline: Timeline, part: PathPart) -> str:
    track = next(each for each in timeline.tracks if part.row in each.rows)
    where = "the host" if track.replica is None else f"replica {track.replica}"
    length = units.milliseconds((part.to_ns - part.from_ns) / 1e6)
    before = "before " if part.kind in GAPS else ""
    return f"→ {length} {before}{as_markdown(part.name, 80)}, {where}"


def _address(part: PathPart) -> dict[str, str]:
    margin = max(2 * (part.to_ns - part.from_ns), _LEAST_MARGIN_NS)
    return {
        "view": f"{part.from_ns - margin}-{part.to_ns + margin}",
        "op": f"{part.row}.{part.span_ns}",
    }


def _path(profile: Profile, segment: int) -> tuple[PathShare, ...]:
    return path_table(replays(profile, segment).middle.graph)


def _step(profile: Profile, segment: int) -> int:
    return replays(profile, segment).middle.graph.step
