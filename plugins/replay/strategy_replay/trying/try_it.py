"""Try it: a button that makes a change of a run, and prediction and measurement beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from strategy_app.forms import trusted_paths
from strategy_app.server import state
from strategy_app.server.opened import OpenRun
from strategy_app.widgets.copy_as import offer_copy
from strategy_app.widgets.html_table import grid_text, html_table
from strategy_app.widgets.links import page_link
from strategy_app.widgets.text import as_markdown
from strategy_core.planning.spec_text import as_difference
from strategy_profiles.analysis.compare.repetitions import MIN_PAIRS
from strategy_profiles.errors import LabError
from strategy_profiles.reporting import units
from strategy_profiles.run.in_progress import refuse_beside_a_run
from strategy_replay.engine.sentences import error_sentence
from strategy_replay.trying.agreement import Agreement
from strategy_replay.trying.tried_change import (
    MOST_PAIRS,
    base_spec,
    changed_spec,
    is_about_a_step,
    notes_on,
    try_change,
    why_not_tried,
)
from strategy_replay.trying.tried_changes import TriedChanges, TryingOut

LOOK_EVERY_S = 0.5
_INTERVALS = (
    "The predicted interval does not include by how much runs of one spec differ, because these "
    "are made in turns."
)
_HELP = (
    f"Runs the spec of this run and the changed one {MIN_PAIRS} times each, in turns, for a few "
    "seconds, as new runs. Then shows prediction and measurement side by side."
)


def offer_try(opened: OpenRun, segment: int, changes: Mapping[str, Any], key: str) -> None:
    """Draw the button, the progress or the result of a change; nothing if it changes no step time.

    Args:
      changes: new values of RunSpec fields by dotted path.
      key: of the widgets; one per place on the page.
    """
    if not is_about_a_step(changes):
        return
    begun = state.lab().part(TriedChanges).find(opened.profile.name, segment, changes)
    if begun is not None and not begun.is_over:
        st.fragment(_progress, run_every=LOOK_EVERY_S)(begun, key)
        return
    if begun is not None:
        _show_end(begun)
    label = "Try it" if begun is None else "Try it again"
    reason = _why_not_now(opened, segment, changes)
    num_pairs = MIN_PAIRS
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if begun is not None:
            num_pairs = st.number_input(
                "Runs each", MIN_PAIRS, MOST_PAIRS, key=f"pairs_{key}", width=110
            )
        pressed = st.button(
            label, key=f"try_{key}", help=reason or _HELP, disabled=reason is not None
        )
        _offer_copy(opened, segment, changes, key)
    refused = f"refused_{key}"  # kept: a rerun of the page would take an error away
    if pressed:
        st.session_state[refused] = _start(opened, segment, changes, num_pairs)
        if st.session_state[refused] is None:
            st.rerun()
    if error := st.session_state.get(refused):
        st.error(as_markdown(error))
    if reason is not None:
        st.caption(f"Cannot be tried: {as_markdown(reason, 300)}")
        return
    for note in notes_on(opened.profile, segment, changes):
        st.caption(as_markdown(note, 300))


def _offer_copy(opened: OpenRun, segment: int, changes: Mapping[str, Any], key: str) -> None:
    """The changed spec as text; nothing if the change gives no valid spec."""
    try:
        spec = changed_spec(opened.profile, segment, changes)
    except LabError:
        return
    offer_copy(spec, key=f"copy_{key}")


def _why_not_now(opened: OpenRun, segment: int, changes: Mapping[str, Any]) -> str | None:
    lab = state.lab()
    reason = why_not_tried(opened.profile, segment, changes, lab.inventory())
    if reason is not None:
        return reason
    spec = base_spec(opened.profile, segment)
    if trusted_paths.waits_for_person(spec.workload, spec.data):
        return (
            "This run executes files of its own. Open its page Steps and confirm them under "
            "'Run again with its own files' first."
        )
    if busy := lab.active_run():
        return f"{busy} is running. Stop it, or wait until it ends: runs side by side are slower."
    return None


def _start(opened: OpenRun, segment: int, changes: Mapping[str, Any], num_pairs: int) -> str | None:
    """Begin to try the change; returns why not, if it cannot be tried now."""
    lab = state.lab()
    try:
        refuse_beside_a_run(lab.runs)
        tried = try_change(
            opened.profile,
            segment,
            changes,
            lab.runs,
            num_pairs=num_pairs,
            inventory=lab.inventory(),
        )
        for spec in tried.plan.specs:
            trusted_paths.require(spec)
        lab.part(TriedChanges).start(tried, lab.launch, lab.launcher)
    except LabError as error:
        return str(error)
    return None


def _progress(begun: TryingOut, key: str) -> None:
    if begun.is_over:
        st.rerun()
    which = {"a": "without the change", "b": "with the change"}.get(begun.side, "")
    number = min(begun.num_done + 1, begun.tried.num_runs)
    text = f"Run {number} of {begun.tried.num_runs}, {which}: "
    text += f"step {begun.step} of {begun.num_steps}" if begun.step else "starting"
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(begun.share, text=text)
        if st.button("Cancel", key=f"cancel_{key}", disabled=begun.is_cancelled):
            begun.cancel()
            st.rerun(scope="fragment")
    if begun.is_cancelled:
        st.caption("Ends after the current step.")


def _show_end(begun: TryingOut) -> None:
    if begun.error is not None:
        st.error(as_markdown(begun.error))
    elif begun.agreement is None:
        st.caption("Cancelled. The runs that were finished are kept.")
    else:
        _show_result(begun, begun.agreement)


def _show_result(begun: TryingOut, agreement: Agreement) -> None:
    st.markdown(f"**{as_markdown(agreement.sentence)}**")
    st.html(_side_by_side(agreement, begun.tried.num_pairs))
    if begun.tried.predicted is not None:
        st.caption(as_markdown(f"{error_sentence(begun.tried.predicted)} {_INTERVALS}", 500))
    why = begun.tried.why_no_prediction
    if why is not None:
        st.caption(as_markdown(f"No prediction. {why}", 400))
    outcome = begun.outcome
    if outcome is None:
        return
    st.markdown("To keep it, change the spec:")
    st.code(as_difference(*begun.tried.plan.specs), language=None, wrap_lines=True)
    if outcome.failed:
        st.caption(as_markdown(f"Not finished: {', '.join(outcome.failed)}.", 400))
    names = {side: [run.name for run in runs] for side, runs in outcome.finished.items()}
    query: dict[str, Any] = {}
    for side, (first, *more) in names.items():
        query |= {side: first, f"more_{side}": more}
    page_link("compare", "Open in Compare", query=query)


def _side_by_side(agreement: Agreement, num_pairs: int) -> str:
    """The prediction beside the measurement, narrow enough for the card of a finding."""
    sides = {f"Measured, {num_pairs} runs each": agreement.measured}
    if agreement.predicted is not None:
        sides = {"Predicted": agreement.predicted} | sides
    rows = [
        ("Without the change", *(units.milliseconds(each.without_ms) for each in sides.values())),
        ("With it", *(units.milliseconds(each.with_ms) for each in sides.values())),
        ("Its interval", *(each.between or units.MISSING for each in sides.values())),
        ("With / without", *(grid_text(each.ratio, "%.2f") for each in sides.values())),
    ]
    return html_table(["A step", *sides], rows, texts=["A step"], name="Prediction and measurement")
