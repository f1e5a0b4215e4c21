"""The clocks of a run's workers: offsets, uncertainty, and the check by collectives."""

from __future__ import annotations

import streamlit as st

from strategy_app.server.opened import OpenRun
from strategy_app.widgets.table import show_table, text
from strategy_app.widgets.text import plain
from strategy_profiles.analysis.clocks import ClockAnswer, worker_clocks
from strategy_profiles.reporting.definitions import DEFINITIONS


def show_clocks(opened: OpenRun) -> None:
    """A table with a row per worker; nothing for a single worker."""
    answers = opened.ask(worker_clocks)
    if not answers:
        return
    st.header("One clock", help=DEFINITIONS["clock_offset"].text)
    show_table(
        "clocks",
        answers,
        {
            "process": text("Process", lambda answer: plain(answer.title)),
            "clock": text("Clock", lambda answer: plain(answer.sentence)),
            "messages": text("Messages say", _messages),
            "collectives": text("Collectives say", _check),
        },
    )


def _messages(answer: ClockAnswer) -> str:
    if answer.measured_ms is None or answer.measured_uncertainty_ms is None:
        return "–" if answer.source == "reference" else "not measured"
    ahead = f"{_signed(-answer.measured_ms)} ms (±{answer.measured_uncertainty_ms:.3f} ms)"
    return f"{ahead}, {answer.num_measurements} measurements"


def _check(answer: ClockAnswer) -> str:
    check = answer.check
    if check is None:
        return "–"
    verdict = "consistent" if check.is_consistent else "contradicts"
    return (
        f"{verdict}: {_signed(-check.at_most_ms)} to {_signed(-check.at_least_ms)} ms remaining, "
        f"ends {_signed(-check.common_end_ms)} ms apart, {check.num_steps} steps"
    )


def _signed(ms: float) -> str:
    """With three digits and its sign; what rounds to zero has none."""
    return f"{ms:+.3f}" if round(ms, 3) else "0.000"
