"""Why a run is slow: a sentence first (what was run, how fast, what limits it), then evidence."""

from __future__ import annotations

from functools import partial

import streamlit as st

from strategy_app.added_sections import show_below
from strategy_app.screen.answer import answer_of, show_parts, show_warnings
from strategy_app.server.opened import OpenRun
from strategy_app.widgets.banner import show_status
from strategy_app.widgets.empty import empty
from strategy_app.widgets.evidence import show_machine_load, show_over_steps
from strategy_app.widgets.key_numbers import show_first_numbers, show_other_numbers
from strategy_app.widgets.links import open_page, page_link
from strategy_app.widgets.picker import run_page
from strategy_app.widgets.places import LIVE
from strategy_app.widgets.recorded_again import show_how_to_record_again, show_measured_gain
from strategy_app.widgets.segments import facts_of, pick_segment
from strategy_app.widgets.verdict import show_findings, show_gains, show_headline
from strategy_profiles.analysis.facts import Facts, Finding
from strategy_profiles.analysis.no_capture import ANNOTATE_STEPS
from strategy_profiles.answers.answer import Code
from strategy_profiles.questions.breakdown import breakdown
from strategy_profiles.questions.input_stages import input_pipeline
from strategy_profiles.questions.loop import loop
from strategy_profiles.questions.over_steps import over_steps
from strategy_profiles.questions.run_memory import memory_over_run
from strategy_profiles.questions.step_memory import memory_over_step
from strategy_profiles.run.events import SegmentOpened


def page() -> None:
    is_from_header = "run" not in st.query_params
    opened = run_page(
        "overview",
        shows="how long a step takes, what fills it, and why it is slow",
        says_status=False,
    )
    if opened is None:
        return
    if is_from_header and not opened.profile.status.is_over:
        open_page(LIVE, opened.profile.path.name)
    segment = pick_segment(opened.profile)
    facts = opened.ask(facts_of, segment.segment) if segment else None
    if segment is None:
        show_how_to_record_again(opened)
    if opened.profile.status.is_over and (facts is None or facts.failed is None):
        show_status(opened.profile)
    if segment and facts:
        _show(opened, segment, facts)


def _show(opened: OpenRun, segment: SegmentOpened, facts: Facts) -> None:
    """The cause, its remedy and its lines first; numbers, the other causes and charts follow."""
    headline = show_headline(opened.profile, facts)
    if opened.profile.is_imported and not facts.steps.step.size:
        empty("No step is known, and so no number of a step.", ANNOTATE_STEPS)
        page_link("timeline", "Timeline of its ops", run=opened.profile.path.name)
        return
    has_failed = facts.failed is not None  # the headline says why
    memory = opened.ask(memory_over_run)
    peak = memory.numbers[0]
    show_measured_gain(opened)
    # Where each stands is in `first_style`: the order here is that of a phone.
    *where, account = answer_of(opened, loop, segment.segment).parts or (None,)
    bars, *late = answer_of(opened, breakdown, segment.segment).parts
    lines = [part for part in where if isinstance(part, Code)]
    answer = st.container(key="why_answer_failed" if has_failed else "why_answer")
    with answer.container(key="why_lines"):
        show_parts(lines)
    with answer.container(key="why_findings"):
        places = show_findings(facts, headline, partial(_offer, opened))
    if not has_failed:
        with answer:
            show_first_numbers(facts, peak)
    left = answer.container(key="why_parts")
    with left:
        show_parts([part for part in where if not isinstance(part, Code)])
    if has_failed:
        show_status(opened.profile, is_headline=True)
        show_first_numbers(facts, peak)
    show_other_numbers(facts)
    below, right = st.columns(2)
    with below if lines else left:
        show_parts((bars,))
    chart, *tables = memory.parts
    with right if lines else below:
        if tables:
            show_warnings(memory.warnings)
            show_over_steps(opened, chart)
    show_parts((*late, *([account] if account else [])))
    show_gains(opened, segment.segment, places)
    drawn = {part.key: part for part in opened.ask(over_steps).parts}
    show_over_steps(opened, drawn["wall"])
    show_machine_load(facts.load)
    if "loss" in drawn:
        show_over_steps(opened, drawn["loss"])
    show_parts(tables)
    for question in (memory_over_step, input_pipeline):
        show_parts(answer_of(opened, question, segment.segment).parts)


def _offer(opened: OpenRun, finding: Finding, is_first: bool) -> None:
    if is_first:
        show_how_to_record_again(opened)
    show_below(opened, finding)


page()
