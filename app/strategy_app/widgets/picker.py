"""The head of a page about one run: its title, the run picker (`?run=NAME`), the run's banner."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from strategy_app.server import state
from strategy_app.server.opened import OpenRun, open_run
from strategy_app.widgets.banner import show_status
from strategy_app.widgets.empty import empty
from strategy_app.widgets.links import page_link
from strategy_app.widgets.places import show_head, titles
from strategy_app.widgets.refresh import follow
from strategy_app.widgets.runs_folder import RunEntry, list_runs
from strategy_app.widgets.text import as_markdown, plain
from strategy_app.widgets.title import set_title
from strategy_core.planning import strategy_catalog
from strategy_core.planning.strategy_catalog import StrategyRow
from strategy_profiles.errors import LabError

LAST_RUN = "last_run"
"""Session key: the run that was shown last, on any page."""


def run_page(
    page: str,
    head: tuple[DeltaGenerator, DeltaGenerator] | None = None,
    *,
    shows: str,
    needed: str = "a strategy and devices",
    suits: Callable[[RunEntry], bool] = lambda _: True,
    says_status: bool = True,
) -> OpenRun | None:
    """Draw the head of a page; return the opened run, or None if the page shows what to do instead.

    Args:
      page: its address.
      head: where its row of links and the run's picker are, for a page with more beside them.
      shows: what the page is about, for a reader without a run: it completes `This page shows`.
      needed: what to choose under New run for a run that the page has something to show of.
      suits: whether the page has anything to show of a run. Without one in the address, it opens on
        the run shown last if that suits, else on the newest that does.
      says_status: whether to say how a run ended that did not simply finish. A page that does not
        want this has it in its own place.
    """
    left, right = head or st.columns([3, 2], vertical_alignment="center")
    row = left.container()
    runs = list_runs(state.lab().runs)
    if not runs:
        with row:
            show_head(page)
        empty(
            "No run yet.",
            f"This page shows {shows}. Start a run: choose {needed}, then press Run.",
            page="lab",
            link="New run",
        )
        page_link("runs", "Record a program, import a profile, or open an example →")
        return None
    with right.container(key="run_picker"):
        entry = pick_run(runs, key="run", label="Run", suits=suits, shows_label=False)
    if entry is None:
        with row:
            show_head(page)
        say_unknown("run")
        return None
    st.session_state[LAST_RUN] = entry.name
    set_title(titles()[page], entry.title)
    try:
        opened = open_run(entry.path)
    except LabError as error:
        with row:
            show_head(page, entry.name)
        st.error(as_markdown(error))
        return None
    is_over = opened.profile.status.is_over
    with row:
        show_head(page, entry.name, opened.profile.segments, is_over=is_over)
    if is_over:
        if says_status and opened.profile.segments:  # else the page's only sentence says it
            show_status(opened.profile)
        return opened
    # Beside each other: the page's own numbers stay in sight on a projector.
    left, right = st.columns([2, 3], vertical_alignment="center")
    with left:
        show_status(opened.profile)
    with right:
        follow(entry.path, opened)
    return opened


def needs(trait: Callable[[StrategyRow], bool]) -> Callable[[RunEntry], bool]:
    """`suits` of `run_page`: a run whose strategy has a trait."""

    def suits(entry: RunEntry) -> bool:
        row = strategy_catalog.find((entry.spec or {}).get("strategy"))
        return row is not None and trait(row)

    return suits


def pick_run(
    runs: list[RunEntry],
    *,
    key: str,
    label: str,
    default: int = 0,
    remember: bool = True,
    suits: Callable[[RunEntry], bool] = lambda _: True,
    shows_label: bool = True,
) -> RunEntry | None:
    """A select box bound to the query parameter `key`; None if that names no run (`say_unknown`).

    A label that is not shown is still that of screen readers.
    """
    by_name = {entry.name: entry for entry in runs}
    wanted = st.query_params.get(key) or None
    if wanted is None and remember:
        last = by_name.get(st.session_state.get(LAST_RUN, ""))
        candidates = [*([last] if last else []), *runs]
        wanted = next(filter(suits, candidates), candidates[0]).name
    unknown = wanted is not None and wanted not in by_name
    names = list(by_name)
    widget = f"pick_{key}"
    if unknown:
        index = None
    else:
        index = names.index(wanted) if wanted in by_name else min(default, len(names) - 1)
    if not unknown and st.session_state.get(widget) not in (None, names[index or 0]):
        # The address, such as a link to another run, wins over the widget's last value.
        st.session_state[widget] = names[index or 0]
    chosen = st.selectbox(
        label,
        names,
        index=index,
        key=widget,
        format_func=lambda name: plain(by_name[name].title) if name in by_name else name,
        on_change=_write_address,
        args=(key, widget),
        placeholder="Choose a run",
        label_visibility="visible" if shows_label else "collapsed",
    )
    if chosen is None:
        return None
    if st.query_params.get(key) != chosen:
        st.query_params[key] = chosen
    return by_name.get(chosen)


def say_unknown(key: str) -> None:
    """Say that the run of the query parameter `key` is not there."""
    name = plain(st.query_params.get(key, ""), 80)
    next_step = "It was renamed or deleted, or is in another folder. Choose another one above."
    empty(f"There is no run named {name}.", next_step)


def _write_address(key: str, widget: str) -> None:
    chosen = st.session_state.get(widget)
    if chosen is not None:
        st.query_params[key] = chosen
