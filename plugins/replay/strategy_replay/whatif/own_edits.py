"""A what-if that the user composes: edits chosen one by one, each alone and all together."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from strategy_app.server.opened import OpenRun
from strategy_app.widgets.text import as_markdown, plain
from strategy_profiles.reporting import units
from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.step_graph.recording import ReplayError
from strategy_profiles.tables.store import Profile
from strategy_replay.engine.batch_fit import batch_change
from strategy_replay.engine.collective_cost import ALGORITHMS
from strategy_replay.engine.collective_edits import faster_link, other_packs
from strategy_replay.engine.edit_text import text_of
from strategy_replay.engine.edits import Edit, Faster, InputFree, RemoveDelay
from strategy_replay.engine.other_algorithm import other_algorithm
from strategy_replay.engine.overlapped import overlapped
from strategy_replay.engine.path_shares import path_table
from strategy_replay.engine.replays import replays
from strategy_replay.engine.sentences import predicted_sentence
from strategy_replay.engine.spec_edits import refused_xla
from strategy_replay.engine.straggler import average_straggler
from strategy_replay.engine.what_if import WhatIf, what_if
from strategy_replay.whatif.predicted_links import show_predicted_links

Chosen = tuple[str, str, float]
"""Name of an edit in `_EDITS`, the kind of op or algorithm, and a number, if it has such."""
_LEAST_SHARE = 0.01
_OPS = "Ops of a kind, times as fast"
_LINK = "Speed of the link, times"
_BATCH = "Global batch size"
_PACKS = "Bytes per pack of gradients"
_ALGORITHM = "Algorithm of the all-reduce"
_EDITS: dict[str, Callable[[Profile, int, str, float], Edit]] = {
    _OPS: lambda _profile, _segment, kind, times: Faster(kind, times),
    _LINK: lambda profile, segment, _, times: faster_link(replays(profile, segment), times),
    _BATCH: lambda profile, segment, _, size: batch_change(profile, segment, int(size)),
    _PACKS: lambda profile, segment, _, size: other_packs(replays(profile, segment), int(size)),
    _ALGORITHM: lambda profile, segment, name, _: other_algorithm(replays(profile, segment), name),
    "Communication overlapped": lambda profile, segment, *_: overlapped(replays(profile, segment)),
    "Input for free": lambda *_: InputFree(),
    "No injected delay": lambda *_: RemoveDelay(),
    "No straggler": lambda profile, segment, *_: average_straggler(profile, segment),
    "XLA": lambda *_: refused_xla(),
}
_NUMBERS: dict[str, tuple[float, float, float]] = {
    _OPS: (1.1, 2.0, 0.5),
    _LINK: (0.1, 2.0, 0.5),
    _BATCH: (1, 512, 1),
    _PACKS: (0, 1_000_000, 1),
}
"""Least value, the one to begin with, and step of the edits that have a number."""


def show_own(opened: OpenRun, segment: int) -> None:
    """Draw the choice of an edit with its prediction, and the list of those that were added."""
    st.header("Your own change")
    key = f"what_if_edits_{opened.profile.path}_{segment}"
    added: list[Chosen] = st.session_state.setdefault(key, [])
    chosen = _choose(opened, segment)
    title = _show_prediction(opened, segment, (chosen,))
    if st.button(
        "Combine with another", key="what_if_add", disabled=title is None or chosen in added
    ):
        added.append(chosen)
        st.rerun()
    for number, each in enumerate(added):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(as_markdown(_title(opened, segment, each)))
            if st.button("Remove", key=f"what_if_remove_{number}"):
                added.remove(each)
                st.rerun()
    if len(added) > 1:
        _show_prediction(opened, segment, tuple(added))


def _choose(opened: OpenRun, segment: int) -> Chosen:
    columns = st.columns([2, 2, 1], vertical_alignment="bottom")
    name = columns[0].selectbox("Change", list(_EDITS), key="what_if_own")
    what, value = "", 1.0
    if name == _OPS:
        kinds = opened.ask(_kinds, segment)
        what = columns[1].selectbox("Ops of this kind", kinds, key="what_if_kind")
    elif name == _ALGORITHM:
        recorded = opened.ask(_recorded, segment).cross_device_ops
        others = [each for each in ALGORITHMS if each != recorded]
        what = columns[1].selectbox("Algorithm", others, key="what_if_algorithm")
    if name in _NUMBERS:
        least, usual, step = _NUMBERS[name]
        if name == _BATCH:
            usual = 2 * (opened.ask(_recorded, segment).global_batch_size or usual)
        value = columns[2].number_input(
            "to" if name in (_BATCH, _PACKS) else "times",
            min_value=least,
            value=usual,
            step=step,
            key=f"what_if_value_{list(_EDITS).index(name)}",
        )
    return name, what, value


def _show_prediction(opened: OpenRun, segment: int, chosen: tuple[Chosen, ...]) -> str | None:
    """Return the titles of the edits; None if the recording does not allow the prediction."""
    try:
        predicted = opened.ask(_predicted, segment, chosen)
    except ReplayError as error:
        st.caption(as_markdown(error, 300))
        return None
    show_predicted(predicted)
    show_predicted_links(
        opened, segment, {"Show on the timeline": opened.ask(_text, segment, chosen)}
    )
    return plain(units.listed(predicted.edits))


def show_predicted(predicted: WhatIf) -> None:
    """A prediction in a sentence, and what to record for a more precise one."""
    before, length, after = map(as_markdown, predicted_sentence(predicted))
    st.markdown(f"{before} **{length}** {after}")
    for advice in predicted.advice:
        st.caption(as_markdown(advice, 300))


def _recorded(profile: Profile, segment: int) -> SegmentOpened:
    return replays(profile, segment).recording.segment


def _predicted(profile: Profile, segment: int, chosen: tuple[Chosen, ...]) -> WhatIf:
    return what_if(profile, segment, _edits(profile, segment, chosen))


def _text(profile: Profile, segment: int, chosen: tuple[Chosen, ...]) -> str | None:
    return text_of(_edits(profile, segment, chosen))


def _edits(profile: Profile, segment: int, chosen: tuple[Chosen, ...]) -> list[Edit]:
    return [_EDITS[name](profile, segment, what, value) for name, what, value in chosen]


def _title(opened: OpenRun, segment: int, chosen: Chosen) -> str:
    return plain(units.listed(opened.ask(_predicted, segment, (chosen,)).edits))


def _kinds(profile: Profile, segment: int) -> list[str]:
    """The types of ops that run, those that matter on the critical path first."""
    graph = replays(profile, segment).middle.graph
    nodes = graph.nodes
    used = zip(nodes.op, nodes.demand.tolist(), graph.is_timed.tolist(), strict=True)
    types = {op for op, cores, is_timed in used if cores and not is_timed}
    on_path = [
        item.op
        for item in path_table(graph)
        if item.kind == "compute" and item.op in types and item.share >= _LEAST_SHARE
    ]
    return list(dict.fromkeys([*on_path, "compute", "communication", *sorted(types)]))
