"""The first section: the run and the reason for its step time in a sentence, then key numbers."""

from __future__ import annotations

from strategy_lab.profiles.analysis.cost import cost_text
from strategy_lab.profiles.analysis.findings import Finding, findings, ranked
from strategy_lab.profiles.exports.report.facts import RunFacts, title_of
from strategy_lab.profiles.exports.report.headline import heading
from strategy_lab.profiles.exports.report.key_numbers import key_numbers
from strategy_lab.profiles.exports.report.markup import Markup, join, tag
from strategy_lab.profiles.exports.report.section import Section
from strategy_lab.profiles.exports.report.segments import segment_table
from strategy_lab.profiles.run.events import Failed, Note


def overview(facts: RunFacts) -> Section:
    """Return the section: headline, problems if any, key numbers, findings, segments."""
    state = facts.profile.status.state
    parts = [
        tag("span", state, class_=f"status {state}"),
        heading(facts),
        _alert(facts),
        key_numbers(facts.longest) if facts.longest and facts.longest.steps.count else None,
        _findings(facts),
        segment_table(facts) if len(facts.segments) > 1 else None,
    ]
    return Section("overview", "Overview", join(*parts))


def _alert(facts: RunFacts) -> Markup | None:
    """Return the run's warnings, what cannot be read of it, and the details of a failure."""
    notes = facts.profile.events(Note)
    lines = [note.message for note in notes if note.level == "warning"]
    lines += facts.profile.notes
    lines += [error for item in facts.segments for error in item.capture.errors]
    shown = [tag("p", line) for line in dict.fromkeys(lines) if line]
    details = [failed.detail for failed in facts.profile.events(Failed) if failed.detail]
    if details:
        shown.append(tag("details", tag("summary", "Details"), tag("pre", details[-1][:20_000])))
    return tag("div", *shown, class_="alert", role="note") if shown else None


def _findings(facts: RunFacts) -> Markup | None:
    """Return every finding, ranked; one that holds for several segments is listed once."""
    titles = {item.segment.segment: title_of(item.segment) for item in facts.segments}
    found: dict[tuple[str, str], list[Finding]] = {}
    for finding in ranked([one for item in facts.segments for one in findings(item)]):
        found.setdefault((finding.sentence, finding.advice), []).append(finding)
    if not found:
        return None
    several = len(facts.segments) > 1
    rows = [
        tag(
            "li",
            tag("span", f"{_where(same, titles)}: ", class_="quiet") if several else None,
            tag("b", f"{cost_text(same[0].cost)}: "),
            sentence,
            tag("span", f" {advice}", class_="quiet"),
        )
        for (sentence, advice), same in found.items()
    ]
    return join(tag("h3", "Findings and advice"), tag("ul", *rows, class_="found"))


def _where(same: list[Finding], titles: dict[int, str]) -> str:
    return "; ".join(titles[number] for number in sorted({item.segment for item in same}))
