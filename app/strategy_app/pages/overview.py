"""Overview of a run: a sentence first (what was run, how fast, what limits it), then evidence."""

from __future__ import annotations

import streamlit as st

from strategy_app.control.try_it import offer_try
from strategy_app.server.opened import OpenRun
from strategy_app.widgets.account import show_account
from strategy_app.widgets.empty import empty
from strategy_app.widgets.evidence import (
    peak_memory,
    show_breakdown,
    show_loss,
    show_machine_load,
    show_memory,
    show_step_time,
)
from strategy_app.widgets.input_stages import show_input_stages
from strategy_app.widgets.key_numbers import show_key_numbers
from strategy_app.widgets.links import page_link
from strategy_app.widgets.picker import run_page
from strategy_app.widgets.segments import facts_of, pick_segment
from strategy_app.widgets.step_memory import show_step_memory
from strategy_app.widgets.verdict import show_findings, show_gains, show_headline
from strategy_profiles.analysis.facts import Finding
from strategy_profiles.film import ANNOTATE_STEPS
from strategy_profiles.run.events import SegmentOpened


def page() -> None:
    opened = run_page("Overview", shows="how long a step takes, what fills it, and why it is slow")
    segment = pick_segment(opened.profile) if opened else None
    if opened and segment:
        _show(opened, segment)


def _show(opened: OpenRun, segment: SegmentOpened) -> None:
    facts = opened.ask(facts_of, segment.segment)
    show_headline(opened.profile, facts)
    if opened.profile.is_imported and not facts.steps.step.size:
        empty("No step is known, and so no number of a step.", ANNOTATE_STEPS)
        page_link("timeline", "Timeline of its ops", run=opened.profile.path.name)
        return
    # How long a step takes and what fills it, beside why: at 1280x720 all three are in sight.
    # On a phone the memory comes after the findings (`first_style`).
    left, right = st.container(key="overview_answer").columns([2, 3])
    with right:
        places = show_findings(facts, lambda finding: _offer(opened, finding))
    show_key_numbers(facts, peak_memory(opened), left, right)
    with left:
        show_breakdown(facts.breakdown, facts.steps.median_ms)
        with st.container(key="memory_place"):
            show_memory(opened)
    show_account(facts)
    show_gains(opened, segment.segment, places)
    show_step_time(opened)
    show_machine_load(facts.load)
    show_loss(opened)
    show_step_memory(opened, segment.segment)
    show_input_stages(opened, segment.segment)


def _offer(opened: OpenRun, finding: Finding) -> None:
    if finding.edits:
        offer_try(opened, finding.segment, finding.edits, finding.key)


page()
