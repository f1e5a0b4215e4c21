"""The answer in words: what was run, how fast it is, what limits it, and what to try."""

from __future__ import annotations

import time

import streamlit as st

from strategy_lab.app.widgets.text import as_html, as_markdown, bound
from strategy_lab.profiles.analysis.findings import Facts, Finding, findings
from strategy_lab.profiles.analysis.headline import Strong, headline
from strategy_lab.profiles.reporting import units
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
    parts = headline(profile, facts)
    show_sentence("".join(map(_as_html, parts)))


def _as_html(part: str) -> str:
    """A part of the headline; the spaces around it, which `as_html` takes away, are kept."""
    if isinstance(part, Strong):
        return f"<b>{as_html(part, 60)}</b>"
    before, after = part[: -len(part.lstrip())], part[len(part.rstrip()) :]
    return f"{before}{as_html(part)}{after}"


def show_sentence(sentence: str) -> None:
    """A page's answer in large type; `sentence` is HTML, its names already escaped."""
    st.html(f'{_HEADLINE}<div class="lab-headline">{bound(sentence)}</div>')
    if not st.session_state.get(_HAS_ANSWERED):
        st.session_state[_HAS_ANSWERED] = True
        time.sleep(PAINT_S)


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
