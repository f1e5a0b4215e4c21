"""The answer in words: what was run, how fast it is, what limits it, and what to try."""

from __future__ import annotations

import time

import streamlit as st

from strategy_lab.app.widgets.text import as_html, as_markdown, bound, workload_name
from strategy_lab.profiles.analysis.findings import Facts, Finding, findings, main_finding
from strategy_lab.profiles.reporting import units
from strategy_lab.profiles.run.topology import has_servers
from strategy_lab.profiles.tables.schema import CATEGORIES
from strategy_lab.profiles.tables.store import Profile

SHOWN = 3
PAINT_S = 0.3
"""Head start of a session's first answer. Charts that follow at once would have the browser start
the library that draws them first, for half a second in which the page stays empty."""
_HAS_ANSWERED = "has_answered"
_HEADLINE = """<style>
.lab-headline {font-size:1.45rem; line-height:1.4; margin:.1rem 0 .3rem; overflow-wrap:anywhere;
  max-width:70rem; text-wrap:pretty}
.lab-headline b {font-weight:650}
</style>"""


def show_headline(profile: Profile, facts: Facts) -> None:
    """One sentence or two, large."""
    show_sentence(headline(profile, facts))


def show_sentence(sentence: str) -> None:
    """A page's answer in large type; `sentence` is HTML, its names already escaped."""
    st.html(f'{_HEADLINE}<div class="lab-headline">{bound(sentence)}</div>')
    if not st.session_state.get(_HAS_ANSWERED):
        st.session_state[_HAS_ANSWERED] = True
        time.sleep(PAINT_S)


def headline(profile: Profile, facts: Facts) -> str:
    """The sentence as HTML, names escaped."""
    segment = facts.segment
    workload = segment.spec.get("workload") or (profile.spec or {}).get("workload")
    trains = f" trains <b>{as_html(workload_name(workload), 60)}</b>" if workload else " runs"
    batch = segment.global_batch_size
    sized = "" if batch is None else f", batch {batch:,}"
    first = f"<b>{as_html(segment.strategy)}</b> on {segment.size}{trains}{sized}: "
    if facts.steps.median_ms is None:
        return f"{first}no step was recorded in this segment."
    # Workers of parameter servers step beside each other: one's step takes longer.
    pace = "a step is done every" if has_servers(segment) else "a step takes"
    first += f"{pace} <b>{as_html(units.milliseconds(facts.steps.median_ms))}</b>. "
    return first + _limit(facts)


def _limit(facts: Facts) -> str:
    """The finding that explains the largest share; where all are small, where the step went."""
    main = main_finding(facts)
    if main is not None:
        return as_html(main.sentence)
    wall = facts.breakdown.mean_ms("wall")
    if not wall:
        return "What limits it is unknown without a capture window or per-replica timestamps."
    phases = [(name, facts.breakdown.mean_ms(name)) for name in CATEGORIES]
    ordered = sorted(phases, key=lambda item: -(item[1] or 0.0))
    parts = [
        f"{as_html(units.share(value / wall))} {name}"
        for name, value in ordered
        if value is not None and value / wall >= 0.05
    ]
    return f"Of it, {', '.join(parts)}." if parts else ""


def show_findings(facts: Facts) -> None:
    """Why is it slow, the largest share first; each with what to try."""
    found = findings(facts)
    st.subheader("Why is it slow?")
    if not found:
        known = facts.breakdown.source is not None
        st.markdown(
            "No finding: no straggler, and neither input nor communication takes much of a step."
            if known
            else "Not known: this segment has neither a capture window nor per-replica timestamps."
        )
        return
    for finding in found[:SHOWN]:
        _show_one(finding)
    if len(found) > SHOWN:
        with st.expander(f"{len(found) - SHOWN} more"):
            for finding in found[SHOWN:]:
                _show_one(finding)


def _show_one(finding: Finding) -> None:
    share = "" if finding.share is None else units.share(finding.share)
    # Some sentences begin with their share already.
    lead = f"**{share} of a step.** " if share and share not in finding.sentence else ""
    with st.container(border=True):
        st.markdown(f"{lead}{as_markdown(finding.sentence)}")
        st.caption(f"Try: {as_markdown(finding.advice)}")
