"""A matrix of bytes on the page: its numbers are written on where its cells have room for them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from strategy_app.charts.matrix import traffic
from strategy_app.widgets.chart import draw_chart

CELL_PX = 54
"""What `37.7 kB` takes."""
NAMES_PX = 110
"""What the names on the left take."""


def show_matrix_chart(
    names: Sequence[str], matrix: np.ndarray, *, key: str, alt: str, num_labelled: int
) -> None:
    """Draw `strategy_app.charts.matrix.traffic`; `matrix[i, j]` is bytes a step from `names[i]`."""
    room = NAMES_PX + CELL_PX * len(names)
    box = f"{key}_of_{len(names)}"
    with st.container(key=box):
        st.html(
            f"<style>.st-key-{box} {{container-type:inline-size}} @container (max-width:{room}px) "
            f"{{.st-key-{box} .textpoint {{display:none}}}}</style>"
        )
        draw_chart(traffic(names, matrix, num_labelled=num_labelled), key=key, alt=alt)
