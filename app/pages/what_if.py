"""What if: predicted steps beside the measured one, the critical path, and what differs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from strategy_core.launcher.tried_change import change_title, is_about_a_step, why_not_made
from strategy_lab.app.control.try_it import offer_try
from strategy_lab.app.widgets.empty import empty
from strategy_lab.app.widgets.links import page_link
from strategy_lab.app.widgets.opened import OpenRun
from strategy_lab.app.widgets.picker import run_page
from strategy_lab.app.widgets.scaling import show_scaling
from strategy_lab.app.widgets.segments import facts_of, pick_segment
from strategy_lab.app.widgets.table import number, show_table, text
from strategy_lab.app.widgets.text import as_html, as_markdown, plain
from strategy_lab.app.widgets.verdict import show_sentence
from strategy_lab.profiles.analysis.findings import findings
from strategy_lab.profiles.errors import LabError
from strategy_lab.profiles.replay.batch_fit import batch_change
from strategy_lab.profiles.replay.collective_edits import faster_link, other_packs
from strategy_lab.profiles.replay.critical_path import PathShare, path_table
from strategy_lab.profiles.replay.edit_text import text_of
from strategy_lab.profiles.replay.edits import Edit, Faster
from strategy_lab.profiles.replay.recording import ReplayError, why_no_replay
from strategy_lab.profiles.replay.replays import replays
from strategy_lab.profiles.replay.sentences import between, error_sentence
from strategy_lab.profiles.replay.usual_edits import usual_edits, usual_what_ifs
from strategy_lab.profiles.replay.what_if import WhatIf, what_if
from strategy_lab.profiles.reporting import units
from strategy_lab.profiles.run.events import SegmentOpened
from strategy_lab.profiles.tables.store import Profile

_SHOWN = 15
_LEAST_SHARE = 0.01
_TIMES = (1.5, 2.0, 4.0, 10.0)
_ON_TIMELINE = "Show on the timeline"


def _link(profile: Profile, segment: int, times: int) -> Edit:
    return faster_link(replays(profile, segment), times)


def _packs(profile: Profile, segment: int, size: int) -> Edit:
    return other_packs(replays(profile, segment), size)


_CHANGES: dict[str, tuple[Callable[[Profile, int, int], Edit], int]] = {
    "Global batch size": (batch_change, 512),
    "Speed of the link, times": (_link, 2),
    "Bytes per pack of gradients": (_packs, 1_000_000),
}
"""Each with its edit and the value to begin with."""


def page() -> None:
    opened = run_page("What if")
    segment = pick_segment(opened.profile) if opened else None
    if opened and segment:
        _show(opened, segment)


def _show(opened: OpenRun, segment: SegmentOpened) -> None:
    reason = opened.ask(why_no_replay, segment.segment)
    if reason is not None:
        page = "" if opened.profile.is_imported else "lab"
        empty("This run allows no replay.", reason, page=page, link="Open the Lab")
        show_scaling(opened, segment.segment)
        _show_tries(opened, segment.segment)
        return
    found = opened.ask(usual_what_ifs, segment.segment)
    base = opened.ask(_base, segment.segment)
    show_sentence(_headline(base, found))
    st.caption(as_markdown(error_sentence(base)))
    _show_predictions(found)
    texts = opened.ask(_usual_texts, segment.segment)
    titles = [item.edits[0] for item in found]
    _show_on_timeline(opened, segment.segment, {each: texts[each] for each in titles})
    _show_own(opened, segment.segment)
    show_scaling(opened, segment.segment)
    _show_tries(opened, segment.segment)
    _show_path(opened.ask(_path, segment.segment))


def _headline(base: WhatIf, found: tuple[WhatIf, ...]) -> str:
    """The change that saves most, as HTML."""
    measured = f"<b>{as_html(units.milliseconds(base.measured_ms))}</b>"
    if not found:
        return f"A captured step takes {measured}."
    best = found[0]
    return (
        f"A captured step takes {measured}; {as_html(best.edits[0])} it would take "
        f"<b>{as_html(units.milliseconds(best.predicted_ms))}</b> ({as_html(between(best))})."
    )


def _show_predictions(found: tuple[WhatIf, ...]) -> None:
    st.header("Predicted steps")
    show_table(
        "what_if_predictions",
        found,
        {
            "change": text("A step", lambda item: plain(item.edits[0]), width="medium"),
            "predicted": number("Predicted, ms", lambda item: item.predicted_ms, format="%.1f"),
            "interval": text("Interval", between),
            "times": number("Times as fast", lambda item: item.speedup, format="%.2f"),
            "told": text(
                "May change nothing",
                lambda item: "within the error" if item.is_within_error else "",
            ),
        },
    )


def _show_own(opened: OpenRun, segment: int) -> None:
    st.header("Your own")
    left, right = st.columns([3, 1])
    kinds = opened.ask(_kinds, segment)
    kind = left.selectbox("Ops of this kind", kinds, key="what_if_kind")
    times = right.selectbox("times as fast", _TIMES, index=1, key="what_if_times")
    if _show_prediction(opened, _faster, segment, kind, times):
        text = text_of([Faster(kind, times)])
        _show_on_timeline(opened, segment, {_ON_TIMELINE: text})
    left, right = st.columns([3, 1])
    name = left.selectbox("Or change", list(_CHANGES), key="what_if_other")
    make, usual = _CHANGES[name]
    value = right.number_input("to", min_value=0, value=usual, key=f"what_if_{make.__name__}")
    if _show_prediction(opened, _changed, segment, make, value):
        text = opened.ask(_text_of_change, segment, make, value)
        _show_on_timeline(opened, segment, {_ON_TIMELINE: text})


def _show_on_timeline(opened: OpenRun, segment: int, texts: Mapping[str, str | None]) -> None:
    """Links that open the timeline with the predicted rows of an edit, by their labels."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if _ON_TIMELINE not in texts:
            st.caption(f"{_ON_TIMELINE} a step", width="content")
        for label, edit in texts.items():
            if edit is not None:
                run = opened.profile.path.name
                query = {"run": run, "segment": str(segment), "edit": edit}
                page_link("timeline", f"→ {as_markdown(label)}", query=query)


def _show_prediction(opened: OpenRun, ask: Callable[..., WhatIf], *asked: Any) -> bool:
    """Return whether there is one; else the page says why not."""
    try:
        found = opened.ask(ask, *asked)
    except ReplayError as error:
        st.caption(as_markdown(error, 300))
        return False
    st.markdown(
        f"Predicted **{units.milliseconds(found.predicted_ms)}** ({between(found)}) "
        f"{as_markdown(found.edits[0])}: {found.speedup:.2f} times as fast as measured."
    )
    return True


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
    offer_try(opened, segment, changes[title], "what_if")


def _show_path(shares: tuple[PathShare, ...]) -> None:
    st.header("Critical path of the step of median length")
    show_table(
        "what_if_path",
        shares[:_SHOWN],
        {
            "kind": text("Kind", lambda item: item.kind),
            "op": text("Op type", lambda item: plain(item.op)),
            "num": number("On the path", lambda item: item.num, width="small"),
            "ms": number("ms", lambda item: item.total_ms, format="%.2f"),
            "share": number("% of the step", lambda item: 100 * item.share, format="%.1f"),
            "slack": number("Least slack beside it, ms", lambda item: item.slack_ms, format="%.2f"),
        },
    )
    st.caption(
        "The chain of ops, launch gaps and transfers that decides how long the step takes: only "
        "what is on it makes the step shorter, until another chain is the longest."
    )


def _base(profile: Profile, segment: int) -> WhatIf:
    return what_if(profile, segment, [])


def _faster(profile: Profile, segment: int, kind: str, times: float) -> WhatIf:
    return what_if(profile, segment, [Faster(kind, times)])


def _changed(
    profile: Profile, segment: int, make: Callable[[Profile, int, int], Edit], value: int
) -> WhatIf:
    return what_if(profile, segment, [make(profile, segment, value)])


def _usual_texts(profile: Profile, segment: int) -> dict[str, str | None]:
    """The text form of each usual edit by its title."""
    return {edit.title: text_of([edit]) for edit in usual_edits(profile, segment)}


def _text_of_change(
    profile: Profile, segment: int, make: Callable[[Profile, int, int], Edit], value: int
) -> str | None:
    return text_of([make(profile, segment, value)])


def _path(profile: Profile, segment: int) -> tuple[PathShare, ...]:
    return path_table(replays(profile, segment).middle.graph)


def _known_changes(profile: Profile, segment: int) -> dict[str, dict[str, Any]]:
    """The changes of a step that the findings propose, and XLA, by their titles."""
    opened = next(item for item in profile.segments if item.segment == segment)
    edits = [item.edits for item in findings(facts_of(profile, segment))]
    edits.append({"xla": not opened.spec.get("xla")})
    found = {}
    for changes in filter(is_about_a_step, edits):
        with contextlib.suppress(LabError):  # it cannot be made of this run
            found[plain(change_title(profile, segment, changes))] = changes
    return found


def _kinds(profile: Profile, segment: int) -> list[str]:
    """The types of ops that run, those that matter on the critical path first."""
    graph = replays(profile, segment).middle.graph
    nodes = graph.nodes
    used = zip(nodes.op, nodes.demand.tolist(), graph.is_timed.tolist(), strict=True)
    types = {op for op, cores, is_timed in used if cores and not is_timed}
    on_path = [
        item.op
        for item in _path(profile, segment)
        if item.kind == "compute" and item.op in types and item.share >= _LEAST_SHARE
    ]
    return list(dict.fromkeys([*on_path, "compute", "communication", *sorted(types)]))


page()
