"""The input pipeline stage by stage: the limiting stage in a sentence, then all of them.

The table is HTML: the Overview would load Streamlit's data frame for it alone.
"""

from __future__ import annotations

import streamlit as st

from strategy_app.server.opened import OpenRun
from strategy_app.widgets.html_table import html_table
from strategy_app.widgets.text import as_markdown
from strategy_profiles.analysis.input_stages import InputStages, Stage, input_stages
from strategy_profiles.reporting import units

_HEADS = (
    "Stage",
    "Dataset",
    "Steps wait, ms",
    "Own time, ms",
    "Elements a step",
    "Parallelism",
    "Buffer",
    "Held on average",
    "Autotuned",
)


def show_input_stages(opened: OpenRun, segment: int) -> None:
    """Show the stages of a segment; a sentence if none was recorded."""
    st.header(
        "Input pipeline",
        help="Stages of tf.data, each below the stage that reads it. Own time is that of its calls "
        "without the stages below in the same thread; a stage with a buffer is called to take an "
        "element out, so its own time is the wait for one.",
    )
    found: InputStages = opened.ask(input_stages, segment)
    st.markdown(as_markdown(found.sentence))
    if found.stages:
        st.html(
            html_table(
                _HEADS,
                [_row(stage) for stage in found.stages],
                texts=("Stage", "Dataset"),
                name="Stages of the input",
                depths=[stage.depth for stage in found.stages],
            )
        )


def _row(stage: Stage) -> list[str]:
    tuned = None if stage.is_autotuned is None else ("yes" if stage.is_autotuned else "no")
    cells = (
        stage.name,
        stage.dataset,
        f"{stage.held_ms:.3f}",
        f"{stage.self_ms:.3f}",
        f"{stage.count:,.1f}",
        stage.parallelism,
        stage.buffer_size,
        None if stage.buffered is None else f"{stage.buffered:,.1f}",
        tuned,
    )
    return [units.MISSING if cell is None else str(cell) for cell in cells]
