"""The report as one self-contained HTML file, which opens offline and can be printed."""

from __future__ import annotations

from pathlib import Path

from strategy_lab.profiles.exports.format import Format
from strategy_lab.profiles.exports.report.about import definitions, environment
from strategy_lab.profiles.exports.report.communication import communication
from strategy_lab.profiles.exports.report.cores import core_times
from strategy_lab.profiles.exports.report.facts import gather
from strategy_lab.profiles.exports.report.headline import ending
from strategy_lab.profiles.exports.report.memory import memory
from strategy_lab.profiles.exports.report.overview import overview
from strategy_lab.profiles.exports.report.page import render
from strategy_lab.profiles.exports.report.placement import placements
from strategy_lab.profiles.exports.report.processes import processes
from strategy_lab.profiles.exports.report.replicas import replicas
from strategy_lab.profiles.exports.report.serving import serving
from strategy_lab.profiles.exports.report.steps import steps
from strategy_lab.profiles.exports.report.timeline import timeline
from strategy_lab.profiles.tables.store import Profile

_SECTIONS = (
    overview,
    steps,
    replicas,
    core_times,
    communication,
    serving,
    timeline,
    placements,
    memory,
    processes,
    environment,
)


def report(profile: Profile) -> str:
    """Return the report of a run as one HTML document."""
    facts = gather(profile)
    found = [section for make in _SECTIONS if (section := make(facts)) is not None]
    footer = f"Strategy Lab report of {profile.name}: {ending(facts)}"
    return render(f"{profile.name}: report", profile.name, [*found, definitions()], footer)


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
