"""What a real TPU would do with the step that emulated cores ran."""

from __future__ import annotations

import streamlit as st

from strategy_app.widgets.table import number, show_table, text
from strategy_app.widgets.text import as_markdown, plain
from strategy_profiles.analysis.tpu_check import OUTCOMES
from strategy_profiles.reporting import units
from strategy_profiles.run.event_parts import TpuFinding
from strategy_profiles.run.events import StepCheckedForTpu

SHOWN = 5
"""So many ops of a kind have their sentences in full; the others are rows of a table."""
COMPILES = "The step compiles, and every op would run on the TPU."
NOTHING_FOUND = "No op was found that a TPU would refuse or run on its host."

_COLUMNS = {
    "op": text("Op type", lambda finding: plain(finding.op), width="small"),
    "count": number("Ops", lambda finding: finding.count, width="small"),
    "where": text("Line or node", lambda finding: plain(finding.where, 200), width="medium"),
    "code": text("Code", lambda finding: plain(finding.code or "", 200) or None, width="medium"),
    "reason": text("Why", lambda finding: plain(finding.reason, 300), width="large"),
    "advice": text("What to do", lambda finding: plain(finding.advice, 400), width="large"),
}


def show_on_tpu(check: StepCheckedForTpu) -> None:
    """What a real TPU would refuse, run on its host, or run at a cost; what was not checked."""
    st.header("On a real TPU")
    if check.reason:
        st.markdown(f"Not checked: {plain(check.reason, 300)}.")
        return
    for outcome, title in OUTCOMES.items():
        rows = check.of(outcome)
        if not rows:
            continue
        st.markdown(f"**{title}**")
        for finding in rows[:SHOWN]:
            _show_one(finding)
        if len(rows) > SHOWN:
            with st.expander(f"{len(rows) - SHOWN} more"):
                show_table(f"cores_tpu_{outcome}", rows[SHOWN:], _COLUMNS)
    if not check.findings:
        st.markdown(NOTHING_FOUND if check.unchecked else COMPILES)
    for sentence in check.unchecked:
        st.markdown(f"Not checked: {plain(sentence, 400)}.")
    took = "" if check.lookup_ms is None else f" in {units.seconds(check.lookup_ms / 1000)}"
    if check.lowering_ms is not None:
        lowering = units.seconds(check.lowering_ms / 1000)
        took += f", and compiled as a test by TensorFlow's XLA bridge in {lowering}"
    st.caption(
        f"{check.num_ops:,} ops of the traced step were looked up among XLA's kernels{took}. "
        "The check uses XLA's CPU compiler in place of the TPU's, and does not check memory."
    )


def _show_one(finding: TpuFinding) -> None:
    with st.container(border=True):
        left, right = st.columns([1, 4])
        with left:
            many = f", {finding.count:,} ops" if finding.count > 1 else ""
            st.markdown(f"**{as_markdown(finding.op)}**{many}")
            st.caption(as_markdown(plain(finding.where, 200)))
        with right:
            reason = plain(finding.reason, 300)
            st.markdown(f"{as_markdown(reason[:1].upper() + reason[1:])}.")
            if finding.code:
                st.code(plain(finding.code, 200), language="python")
            st.caption(f"Try: {as_markdown(plain(finding.advice, 400))}.")
