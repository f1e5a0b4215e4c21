"""The answer in words: what was run, how fast it is, what limits it, and what to try."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from strategy_app.server.opened import OpenRun
from strategy_app.widgets.chart import note_first_sentence
from strategy_app.widgets.segments import facts_of
from strategy_app.widgets.text import as_html, bound, sentence_as_markdown
from strategy_profiles.analysis.findings import NO_FURTHER_STEP, Facts, Finding, findings
from strategy_profiles.analysis.headline import headline
from strategy_profiles.answers.answer import Bold
from strategy_profiles.predictors import findings_with_gains
from strategy_profiles.tables.store import Profile

SHOWN = 3
LONG = 240
"""Characters of a headline that is smaller on a phone: the remedy is to be in sight, too."""
_CODE = re.compile(r"`([^`]+)`")
STYLE = """<style>
.lab-headline {font-size:1.45rem; line-height:1.4; margin:.1rem 0 .3rem; overflow-wrap:anywhere;
  max-width:70rem; text-wrap:pretty}
.lab-headline b {font-weight:650}
.lab-headline .ran {display:block; font-size:1rem; opacity:.85; margin-bottom:.15rem}
.lab-headline code, .lab-said code {font-family:"Source Code Pro",monospace; font-size:.8em}
.lab-said {font-size:.9rem}
/* On a phone cause, line and remedy are on the first screen. */
@media (max-width:48rem) {.lab-headline {font-size:1.2rem; line-height:1.3}
  .lab-headline.long {font-size:1rem}
  .lab-headline .ran {font-size:.85rem}}
</style>"""


def show_headline(profile: Profile, facts: Facts) -> str:
    """What limits the segment, large, below what ran. Returns the whole text."""
    parts = headline(profile, facts)
    show_parts_of_headline(parts)
    return "".join(parts)


def show_parts_of_headline(parts: Sequence[str]) -> None:
    """What is `Bold` of it, large, below the rest."""
    ran = "".join(part_as_html(part) for part in parts if not isinstance(part, Bold))
    limit = "".join(part_as_html(str(part)) for part in parts if isinstance(part, Bold))
    show_sentence(f'<span class="ran">{ran}</span><b>{limit}</b>' if limit else ran)


def part_as_html(part: str) -> str:
    """A part of a sentence; the spaces around it, which `as_html` takes away, are kept."""
    if isinstance(part, Bold):
        return f"<b>{as_html(part, 60)}</b>"
    before, after = part[: -len(part.lstrip())], part[len(part.rstrip()) :]
    text = _CODE.sub(r"<code>\1</code>", as_html(part))
    return f"{before}{text}{after}"


def show_sentence(sentence: str) -> None:
    """A page's answer in large type; `sentence` is HTML, its names already escaped."""
    kind = "lab-headline long" if len(sentence) > LONG else "lab-headline"
    st.html(f'{STYLE}<div class="{kind}">{bound(sentence)}</div>')
    note_first_sentence()


def show_findings(
    facts: Facts, headline: str, offer: Callable[[Finding, bool], None]
) -> list[DeltaGenerator]:
    """What to do, by cause, the largest cost first.

    Returns an empty place for each finding, in the order of `findings`: for what a step would take
    without it, which is predicted after the page is there.

    Args:
      headline: what stands above: the sentence of a finding is not repeated.
      offer: draws below a finding what can be done about it; it is given whether that is the first.
    """
    ordered = findings(facts)
    st.header(
        "What to do",
        help="Ranked by the share of the loop's wall time, its first step included; no two "
        "findings have the same time.",
    )
    if not ordered:
        known = facts.breakdown.source is not None
        reason = facts.steps.unknown.get("replicas", facts.breakdown.reason)
        if not facts.steps.step.size:
            reason = "no step was recorded"
        st.markdown(
            "No finding: no straggler, and neither input nor communication takes much of a step."
            if known
            else f"Not known: {reason}."
        )
        return []
    show = partial(_show_one, headline=headline, offer=offer, has_failed=facts.failure is not None)
    boxes = [show(index, finding) for index, finding in enumerate(ordered[:SHOWN])]
    if len(ordered) > SHOWN:
        with st.expander(f"{len(ordered) - SHOWN} more"):
            boxes += [show(index, finding) for index, finding in enumerate(ordered[SHOWN:], SHOWN)]
    return boxes


def _show_one(
    index: int,
    finding: Finding,
    headline: str,
    offer: Callable[[Finding, bool], None],
    *,
    has_failed: bool,
) -> DeltaGenerator:
    is_first = finding.sentence in headline
    unknown = "Failure" if is_first and has_failed else "Cost unknown"
    unknown = "No step" if finding.key == NO_FURTHER_STEP else unknown
    with st.container(border=True, key=f"finding_{index}"):
        left, right = st.columns([1, 4])
        with left:
            if finding.cost is None:
                st.markdown(f"**{unknown}**")
            else:
                st.markdown(f"**{finding.cost.share_text}**")
                st.caption(sentence_as_markdown(finding.cost.detail_text))
        with right:
            advice = f"Try: {sentence_as_markdown(finding.advice)}"
            if is_first:
                st.markdown(advice)
                gain = st.empty()
            else:
                st.markdown(sentence_as_markdown(finding.sentence))
                gain = st.empty()
                st.caption(advice)
            if finding.change is not None:
                st.code(finding.change.difference, language=None, wrap_lines=True)
            offer(finding, index == 0)
    return gain


def show_gains(opened: OpenRun, segment: int, places: Sequence[DeltaGenerator]) -> None:
    """Add to each finding what a step would take without it, if a package predicts that.

    The server predicts it as soon as the page is requested (`shell.read_ahead`).
    """
    for container, finding in zip(places, with_gains(opened, segment), strict=True):
        if finding.gain is not None:
            container.markdown(sentence_as_markdown(finding.gain.sentence))


def with_gains(opened: OpenRun, segment: int) -> tuple[Finding, ...]:
    """Return the findings of a segment, each with its gain or the reason why it has none."""

    def predicted(profile: Profile, number: int) -> tuple[Finding, ...]:
        return findings_with_gains(profile, opened.ask(facts_of, number))

    return opened.ask(predicted, segment)
