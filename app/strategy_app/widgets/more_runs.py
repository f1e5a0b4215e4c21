"""Further runs of each side of a comparison, from `?more_a=NAME&more_a=..&more_b=..`."""

from __future__ import annotations

import re
from collections.abc import Sequence

import streamlit as st

from strategy_app.server.opened import OpenRun, open_run
from strategy_app.widgets.runs_folder import RunEntry
from strategy_app.widgets.text import as_markdown, plain
from strategy_profiles.errors import LabError

_REPEATED = re.compile(r"(?P<name>.+)-(?P<side>[ab])-\d+")
"""Folders that `strategy-lab run --repeat --interleave` writes."""


def pick_more(runs: Sequence[RunEntry], side: str, first: OpenRun) -> tuple[OpenRun, ...]:
    """A list of runs to choose from beside the first one of side `A` or `B`."""
    return pick_runs(
        [entry for entry in runs if entry.path != first.profile.path],
        key=f"more_{side.lower()}",
        label=f"More runs of {side}",
        placeholder="Compare several runs per side",
    )


def pick_runs(
    runs: Sequence[RunEntry], *, key: str, label: str, placeholder: str, most: int | None = None
) -> tuple[OpenRun, ...]:
    """A list of runs to choose from, bound to the query parameter `key`; at most `most`."""
    widget = f"pick_{key}"
    names = [entry.name for entry in runs]
    wanted = [name for name in st.query_params.get_all(key) if name in names][:most]
    # The address wins over the session, as for the first run.
    st.session_state[widget] = wanted
    chosen = st.multiselect(
        label,
        names,
        key=widget,
        format_func=lambda name: plain(name, 56),
        on_change=_write_address,
        args=(key, widget),
        placeholder=placeholder,
        max_selections=most,
    )
    by_name = {entry.name: entry for entry in runs}
    opened = []
    for name in chosen:
        try:
            opened.append(open_run(by_name[name].path))
        except LabError as error:
            st.error(as_markdown(error))
    return tuple(opened)


def offer_repetitions(runs: Sequence[RunEntry], chosen: str) -> None:
    """A button that puts all repetitions of a run on their sides; nothing without repetitions."""
    match = _REPEATED.fullmatch(chosen)
    if match is None:
        return
    sides = {side: _repetitions(runs, match["name"], side) for side in "ab"}
    if min(map(len, sides.values())) < 2 or _is_chosen(sides):
        return
    st.button(
        f"Compare all repetitions of {plain(match['name'], 56)}",
        key="all_repetitions",
        on_click=_choose_all,
        args=(sides,),
    )


def _repetitions(runs: Sequence[RunEntry], name: str, side: str) -> list[str]:
    matches = (_REPEATED.fullmatch(entry.name) for entry in runs)
    return sorted(
        match[0] for match in matches if match and (match["name"], match["side"]) == (name, side)
    )


def _is_chosen(sides: dict[str, list[str]]) -> bool:
    chosen = (
        {*st.query_params.get_all(side), *st.query_params.get_all(f"more_{side}")} for side in sides
    )
    return all(set(names) == own for names, own in zip(sides.values(), chosen, strict=True))


def _choose_all(sides: dict[str, list[str]]) -> None:
    for side, (first, *more) in sides.items():
        st.query_params[side] = first
        st.query_params[f"more_{side}"] = more


def _write_address(key: str, widget: str) -> None:
    st.query_params[key] = st.session_state.get(widget, [])
