"""All-reduces of emulated TPU cores on meshes of TPU chips, on paper."""

from __future__ import annotations

import streamlit as st

from strategy_app.server.opened import OpenRun
from strategy_app.widgets.table import number, show_table, text
from strategy_app.widgets.text import as_markdown
from strategy_profiles.prediction.link import Link
from strategy_profiles.prediction.scaling import CURVE
from strategy_profiles.prediction.tpu_mesh import (
    LABEL,
    MeshPrediction,
    predict_mesh,
    sentence,
)
from strategy_profiles.tables.store import Profile


def show_mesh_times(opened: OpenRun, segment: int, link: Link | None) -> None:
    """Draw the table; raises PredictionError with the reason if there is no answer."""
    found = opened.ask(_predicted, segment, link)
    st.markdown(f"**{LABEL}**")
    show_table(
        "mesh_times",
        found.times,
        {
            "replicas": number("Replicas", lambda item: item.num_replicas, format="%d"),
            "chips": number("Chips", lambda item: item.num_chips, format="%d"),
            "mesh": text("Mesh", lambda item: " × ".join(map(str, item.mesh))),
            "time": text("All-reduces of a step", lambda item: item.between),
        },
    )
    st.caption(as_markdown(sentence(found), 600))


def _predicted(profile: Profile, segment: int, link: Link | None) -> MeshPrediction:
    return predict_mesh(profile, segment, CURVE, link)
