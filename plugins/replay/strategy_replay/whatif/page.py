"""What if: predicted steps beside the measured one, the critical path, and what differs."""

from __future__ import annotations

import contextlib
from typing import Any

import streamlit as st

from strategy_app.screen.answer import show_answer, show_parts
from strategy_app.server.opened import OpenRun
from strategy_app.widgets.empty import empty
from strategy_app.widgets.picker import run_page
from strategy_app.widgets.segments import facts_of, pick_segment
from strategy_app.widgets.text import as_markdown, plain
from strategy_profiles.analysis.findings import findings
from strategy_profiles.analysis.steps import step_times
from strategy_profiles.errors import LabError
from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.step_graph.recording import ReplayError, why_no_replay
from strategy_profiles.tables.store import Profile
from strategy_replay.engine.edit_text import text_of
from strategy_replay.engine.replays import replays
from strategy_replay.engine.usual_edits import usual_edits, usual_what_ifs
from strategy_replay.engine.what_if import WhatIf, what_if
from strategy_replay.trying.tried_change import (
    change_title,
    is_about_a_step,
    other_algorithms,
    prediction,
    why_not_made,
)
from strategy_replay.trying.try_it import offer_try
from strategy_replay.whatif.own_edits import show_own, show_predicted
from strategy_replay.whatif.path_table import show_path
from strategy_replay.whatif.predicted_links import show_predicted_links
from strategy_replay.whatif.predictions import predictions, slower
from strategy_replay.whatif.slowdowns import Slowdowns, slowdowns


def show_page() -> None:
    opened = run_page(
        "what_if",
        shows="how long a step would take with something changed, such as a faster link",
    )
    segment = pick_segment(opened.profile) if opened else None
    if opened and segment:
        _show(opened, segment)


def _show(opened: OpenRun, segment: SegmentOpened) -> None:
    reason = opened.ask(why_no_replay, segment.segment)
    if reason is not None:
        page, link = ("lab", "New run") if segment.is_of_lab else ("", "")
        if opened.profile.is_imported:
            page, link = "timeline", "Timeline of its ops"
        empty("This run allows no replay.", reason, page=page, link=link)
        _show_tries(opened, segment.segment)
        return
    usual = opened.ask(usual_what_ifs, segment.segment)
    base = opened.ask(_base, segment.segment)
    show_answer(predictions(base, usual, opened.ask(_median_ms, segment.segment)))
    texts = opened.ask(_usual_texts, segment.segment)
    titles = [item.edits[0] for item in usual]
    known = {each: texts[each] for each in titles}
    show_predicted_links(opened, segment.segment, known, "Timeline of a step")
    show_own(opened, segment.segment)
    _show_tries(opened, segment.segment)
    show_path(opened, segment.segment)
    _show_slowdowns(opened, segment.segment)


def _show_tries(opened: OpenRun, segment: int) -> None:
    """The changes that the lab can make and proposes."""
    st.header("Try it")
    why = why_not_made(opened.profile)
    if why is not None:
        st.markdown(as_markdown(why, 300))
        return
    changes = opened.ask(_known_changes, segment)
    if not changes:
        st.markdown("The lab knows no change of this run that it can make.")
        return
    title = st.selectbox("Change", list(changes), key="what_if_change")
    _show_expected(*opened.ask(_expected, segment, title))
    offer_try(opened, segment, changes[title], "what_if")


def _show_slowdowns(opened: OpenRun, segment: int) -> None:
    """Its figures take a replay for each type of op, so they wait for a click."""
    if not st.toggle("Show what differences between replicas cost", key="what_if_slowdowns"):
        return
    try:
        show_parts((slower(opened.ask(_slowdowns, segment)),))
    except ReplayError as error:
        st.caption(as_markdown(error, 300))


def _slowdowns(profile: Profile, segment: int) -> Slowdowns:
    return slowdowns(replays(profile, segment))


def _show_expected(predicted: WhatIf | None, why: str | None) -> None:
    if predicted is None:
        st.caption(as_markdown(f"No prediction. {why}", 300))
        return
    show_predicted(predicted)


def _expected(profile: Profile, segment: int, title: str) -> tuple[WhatIf | None, str | None]:
    return prediction(profile, segment, _known_changes(profile, segment)[title])


def _base(profile: Profile, segment: int) -> WhatIf:
    return what_if(profile, segment, [])


def _median_ms(profile: Profile, segment: int) -> float | None:
    return step_times(profile, segment).median_ms


def _usual_texts(profile: Profile, segment: int) -> dict[str, str | None]:
    """The text form of each usual edit by its title."""
    return {edit.title: text_of([edit]) for edit in usual_edits(profile, segment)}


def _known_changes(profile: Profile, segment: int) -> dict[str, dict[str, Any]]:
    """The changes of a step that the findings propose, other algorithms and XLA, by title."""
    opened = next(item for item in profile.segments if item.segment == segment)
    edits = [item.edits for item in findings(facts_of(profile, segment))]
    edits += other_algorithms(opened)
    edits.append({"xla": not opened.spec.get("xla")})
    by_title = {}
    for changes in filter(is_about_a_step, edits):
        with contextlib.suppress(LabError):  # it cannot be made of this run
            by_title[plain(change_title(profile, segment, changes))] = changes
    return by_title
