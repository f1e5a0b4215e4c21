"""The model's graph on its devices, with a switch for what sizes its blocks."""

from __future__ import annotations

import html
from collections.abc import Sequence
from functools import partial

import streamlit as st

from strategy_app.components.chart import Click
from strategy_app.server.opened import OpenRun
from strategy_app.widgets.chart import draw_chart
from strategy_app.widgets.text import as_markdown
from strategy_model.chart import MOST_ARROWS, Sizing, content_of, model_graph
from strategy_model.model import ModelPicture
from strategy_model.picture import model_picture
from strategy_profiles.reporting import units
from strategy_profiles.reporting.device_names import short_names
from strategy_profiles.reporting.palette import DEVICE_COLOURS, GREY, device_colour

_SIZINGS: dict[Sizing, str] = {
    "time": "measured time",
    "variables": "bytes of variables",
    "outputs": "bytes of outputs",
}
_EMPTY: dict[Sizing, str] = {
    "time": "no op of them was measured",
    "variables": "they hold no variable",
    "outputs": "no size of their outputs is known",
}
MOST_NAMED = 3
_OUTLINES = (("solid", ""), ("dashed", "5 3"), ("dotted", "2 3"))
"""Outlines of a legend's entry and of its cells: of the first six devices, the next six, the rest.

The colours repeat after six. Patterns would tell devices apart, too, but Plotly makes one per cell:
a page of 16 replicas then took 1.5 times as long.
"""
_STYLE = f"""<style>
.lab-legend {{display:flex; flex-wrap:wrap; gap:.1rem .9rem; font-size:.8rem}}
.lab-legend i {{display:inline-block; width:.75rem; height:.75rem; border-radius:2px;
  border:1px solid {GREY}; box-sizing:border-box; margin-right:.35rem; vertical-align:-.06rem}}
</style>"""


def show_model_graph(opened: OpenRun, segment: int) -> None:
    """Draw the graph of a segment, or say why there is none."""
    st.header(
        "The model on its devices",
        help="A bar is a layer, cut into one cell per device that runs its ops. Forward flows "
        "down, gradients flow up beside their layers. Arrows are tensors sent between devices.",
    )
    key = f"unfolded_{opened.profile.path.name}_{segment}"
    unfolded = tuple(st.session_state.get(key, ()))
    picture: ModelPicture = opened.ask(model_picture, segment, unfolded)
    if picture.reason:
        st.markdown(f"There is no picture of the model: {as_markdown(picture.reason)}.")
        return
    sizings = [key for key in _SIZINGS if _is_known(picture, key)]
    sizing = st.segmented_control(
        "Size by",
        sizings,
        default=sizings[0],
        required=True,
        format_func=_SIZINGS.__getitem__,
        key="model_graph_size",
    )
    names = short_names(picture.devices)
    _show_legend([(names[device], at) for at, device in enumerate(picture.devices)])
    _outline_cells(picture)
    chart = model_graph(picture, names, sizing)
    draw_chart(
        chart,
        key="model_graph",
        alt="The model's layers on their devices",
        has_clicks=True,
        on_click=partial(_unfold, key),
    )
    folded = [block.title for block in picture.blocks if len(block.layers) > 1]
    if folded or unfolded:
        st.multiselect(
            "Unfolded blocks",
            list(dict.fromkeys([*unfolded, *folded])),
            key=key,
            placeholder="Click on a block, or choose one, to see its layers",
        )
    st.caption(_notes(picture, sizing))


def _unfold(key: str, click: Click) -> None:
    if click.customdata:
        unfolded = [*st.session_state.get(key, ()), click.customdata]
        st.session_state[key] = list(dict.fromkeys(unfolded))


def _is_known(picture: ModelPicture, sizing: Sizing) -> bool:
    shares = [share for block in picture.blocks for share in block.shares]
    if sizing == "time":
        return picture.no_time is None
    if sizing == "outputs":
        return any(share.output_bytes for share in shares)
    return True


def _notes(picture: ModelPicture, sizing: Sizing) -> str:
    notes = []
    if picture.no_time:
        notes.append(f"Times are not known: {picture.no_time}.")
    elif sizing == "time":
        notes.append(
            "Lengths of ops, added up; ops that run at the same time count each. Waiting for "
            "other devices is no part of it. An empty cell was not measured."
        )
    contents = zip(picture.blocks, content_of(picture, sizing), strict=True)
    empty = list(dict.fromkeys(block.title for block, is_kept in contents if not is_kept))
    if empty:
        more = len(empty) - MOST_NAMED
        names = empty if more <= 1 else [*empty[:MOST_NAMED], f"{more} more"]
        notes.append(f"Not drawn, as {_EMPTY[sizing]}: {units.listed(names)}.")
    hidden = len(picture.moves) - MOST_ARROWS
    if hidden > 0:
        notes.append(f"The {MOST_ARROWS} largest transfers are drawn, {hidden} more are not.")
    if not picture.moves:
        notes.append("No transfer between devices was recorded.")
    if picture.num_elsewhere:
        ops = units.counted(picture.num_elsewhere, "op")
        notes.append(f"Left out: {ops} of functions outside the step, such as input set-up.")
    return " ".join(notes)


def _outline_of(device: int) -> tuple[str, str]:
    return _OUTLINES[min(device // len(DEVICE_COLOURS), len(_OUTLINES) - 1)]


def _show_legend(entries: Sequence[tuple[str, int]]) -> None:
    """Show pairs of name and position as text, so that long names wrap; they are escaped here."""
    items = "".join(
        f'<span><i style="background:{device_colour(at)}; border-style:{_outline_of(at)[0]};'
        f' border-width:{2 if _outline_of(at)[1] else 1}px"></i>{html.escape(name)}</span>'
        for name, at in entries
    )
    st.html(f'{_STYLE}<div class="lab-legend">{items}</div>')


def _outline_cells(picture: ModelPicture) -> None:
    """Outline the cells of the seventh device and those after it, as the legend does."""
    used = {share.device for block in picture.blocks for share in block.shares}
    # Plotly draws a group per device that has cells, in the order of the devices.
    drawn = [at for at, device in enumerate(picture.devices) if device in used]
    rules = "".join(
        f".st-key-model_graph .barlayer .trace:nth-child({index}) path "
        f"{{stroke-dasharray:{_outline_of(at)[1]}}}"
        for index, at in enumerate(drawn, start=1)
        if _outline_of(at)[1]
    )
    if rules:
        st.html(f"<style>{rules}</style>")
