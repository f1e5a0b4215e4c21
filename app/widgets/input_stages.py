"""The input pipeline stage by stage: the limiting stage in a sentence, then all of them."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from strategy_lab.app.widgets.opened import OpenRun
from strategy_lab.app.widgets.text import as_markdown, plain
from strategy_lab.profiles.analysis.input_stages import InputStages, input_stages


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
    if not found.stages:
        return
    rows = [
        {
            "stage": plain("\u2003" * stage.depth + stage.name, 120),
            "dataset": plain(stage.dataset or "", 120),
            "held": stage.held_ms,
            "self": stage.self_ms,
            "count": stage.count,
            "parallelism": stage.parallelism,
            "buffer": stage.buffer_size,
            "buffered": stage.buffered,
            "autotuned": {True: "yes", False: "no"}.get(bool(stage.is_autotuned))
            if stage.is_autotuned is not None
            else None,
        }
        for stage in found.stages
    ]
    column = st.column_config
    st.dataframe(
        pd.DataFrame(rows),
        column_config={
            "stage": column.TextColumn("Stage", width=220),
            "dataset": column.TextColumn("Dataset", width=200),
            "held": column.NumberColumn("Steps wait (ms)", width=110, format="%.3f"),
            "self": column.NumberColumn("Own time (ms)", width=110, format="%.3f"),
            "count": column.NumberColumn("Elements a step", width=110, format="%.1f"),
            "parallelism": column.NumberColumn("Parallelism", width=90),
            "buffer": column.NumberColumn("Buffer", width=70),
            "buffered": column.NumberColumn("Held on average", width=110, format="%.1f"),
            "autotuned": column.TextColumn("Autotuned", width=80),
        },
        hide_index=True,
        placeholder="–",
        key="input_stages",
        height=min(38 + 35 * len(rows), 38 + 35 * 12),
    )
