"""What a real TPU would do with the step that emulated cores ran."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from strategy_lab.app.widgets.text import plain
from strategy_lab.profiles.analysis.tpu_check import OUTCOMES, TpuCheck
from strategy_lab.profiles.run.event_parts import TpuFinding

COMPILES = "The step compiles, and every op would run on the TPU."
NOTHING_FOUND = "No op was found that a TPU would refuse or run on its host."


def show_on_tpu(found: TpuCheck) -> None:
    """What a real TPU would refuse, run on its host, or run at a cost; what was not checked."""
    st.header("On a real TPU")
    if found.reason:
        st.markdown(f"Not checked: {plain(found.reason, 300)}.")
        return
    for outcome, title in OUTCOMES.items():
        rows = [tpu_row(each) for each in found.of(outcome)]
        if rows:
            st.markdown(f"**{title}**")
            tpu_table(rows, outcome)
    if not found.findings:
        st.markdown(NOTHING_FOUND if found.unchecked else COMPILES)
    for sentence in found.unchecked:
        st.markdown(f"Not checked: {plain(sentence, 400)}.")
    took = "" if found.lookup_ms is None else f" in {found.lookup_ms:.0f} ms"
    if found.lowering_ms is not None:
        took += f", and compiled as a test by TensorFlow's XLA bridge in {found.lowering_ms:.0f} ms"
    st.caption(
        f"{found.num_ops:,} ops of the traced step were looked up among XLA's kernels{took}. "
        "The check uses XLA's CPU compiler in place of the TPU's, and does not check memory."
    )


def tpu_row(finding: TpuFinding) -> dict[str, object]:
    return {
        "op": plain(finding.op),
        "count": finding.count,
        "where": plain(finding.where, 200),
        "code": plain(finding.code, 200) if finding.code else None,
        "reason": plain(finding.reason, 300),
        "advice": plain(finding.advice, 400),
    }


def tpu_table(rows: list[dict[str, object]], outcome: str) -> None:
    column = st.column_config
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        placeholder="–",
        key=f"cores_tpu_{outcome}",
        column_config={
            "op": column.TextColumn("Op type", width="small"),
            "count": column.NumberColumn("Ops", width="small"),
            "where": column.TextColumn("Line or node", width="medium"),
            "code": column.TextColumn("Code", width="medium"),
            "reason": column.TextColumn("Why", width="large"),
            "advice": column.TextColumn("What to do", width="large"),
        },
    )
