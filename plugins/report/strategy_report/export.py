"""The report as one self-contained HTML file, which opens offline and can be printed."""

from __future__ import annotations

from pathlib import Path

from strategy_profiles.exports.format import Format
from strategy_profiles.tables.store import Profile
from strategy_report.answers import (
    added_sections,
    communication_section,
    input_section,
    memory_section,
    placement_section,
    replicas_section,
    steps_section,
)
from strategy_report.facts import gather
from strategy_report.overview import ending, overview
from strategy_report.page import report_page
from strategy_report.tabled import definitions, environment, processes
from strategy_report.timeline import timeline

_FIRST = (overview, steps_section, replicas_section)
_LAST = (
    input_section,
    communication_section,
    timeline,
    placement_section,
    memory_section,
    processes,
    environment,
    definitions,
)


def report(profile: Profile) -> str:
    """Return the report of a run as one HTML document."""
    facts = gather(profile)
    made = (
        *(make(facts) for make in _FIRST),
        *added_sections(facts),
        *(make(facts) for make in _LAST),
    )
    sections = [section for section in made if section is not None]
    footer = f"Strategy Lab report of {profile.name}: {ending(facts)}"
    return report_page(profile.name, sections, facts, footer)


def _write(profile: Profile, path: Path) -> None:
    path.write_text(report(profile), encoding="utf-8", errors="replace")


FORMAT = Format(
    name="html",
    title="HTML report",
    description="One file that opens offline, with every chart and every definition.",
    suffix=".html",
    media_type="text/html",
    write=_write,
)
