"""The input pipeline stage by stage: the limiting stage in a sentence, then all of them.

The table is HTML: the Overview would load Streamlit's data frame for it alone.
"""

from __future__ import annotations

import streamlit as st

from strategy_lab.app.server.opened import OpenRun
from strategy_lab.app.widgets.stacked import STACKS
from strategy_lab.app.widgets.text import as_html, as_markdown
from strategy_lab.profiles.analysis.input_stages import InputStages, Stage, input_stages
from strategy_lab.profiles.reporting import units

_STYLE = """<style>
.lab-stages {overflow-x:auto; font-size:.85rem}
.lab-stages table {border-collapse:collapse; width:100%}
.lab-stages th, .lab-stages td {padding:.25rem .6rem; text-align:right; white-space:nowrap;
  border-bottom:1px solid rgba(128,128,128,.3)}
.lab-stages th:first-child, .lab-stages td:nth-child(2), .lab-stages th:nth-child(2)
  {text-align:left}
</style>"""
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
        heads = "".join(f'<th scope="col">{head}</th>' for head in _HEADS)
        rows = "".join(_row(stage) for stage in found.stages)
        st.html(
            f'{_STYLE}{STACKS}<div class="lab-stages" tabindex="0" role="region" '
            f'aria-label="Stages of the input"><table class="lab-stacks">'
            f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
        )


def _row(stage: Stage) -> str:
    tuned = None if stage.is_autotuned is None else ("yes" if stage.is_autotuned else "no")
    cells = (
        stage.dataset,
        f"{stage.held_ms:.3f}",
        f"{stage.self_ms:.3f}",
        f"{stage.count:,.1f}",
        stage.parallelism,
        stage.buffer_size,
        None if stage.buffered is None else f"{stage.buffered:,.1f}",
        tuned,
    )
    indent = f"padding-left:{0.6 + 0.8 * stage.depth:.1f}rem"
    name = f'<th scope="row" data-label="{_HEADS[0]}" style="{indent}">'
    values = "".join(
        f'<td data-label="{head}">{as_html(units.MISSING if cell is None else str(cell))}</td>'
        for head, cell in zip(_HEADS[1:], cells, strict=True)
    )
    return f"<tr>{name}{as_html(stage.name)}</th>{values}</tr>"
