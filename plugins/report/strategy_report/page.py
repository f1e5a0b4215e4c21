"""The page around the sections: one file without any request, with scripts pinned by their hash."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from markupsafe import Markup

from strategy_profiles.reporting.document import content_policy, render, typefaces
from strategy_profiles.reporting.palette import (
    PART_COLOURS,
    SERIES_COLOUR,
    SPAN_COLOURS,
    ink_on,
)
from strategy_report.facts import RunFacts, Section

FOLDER = Path(__file__).parent
ASSETS = FOLDER / "assets"
_STYLES = ("uplot/uPlot.min.css", "report.css")
_FIRST_SCRIPT = "theme.js"
_SCRIPTS = ("uplot/uPlot.iife.min.js", "charts.js", "timeline.js", "tables.js")


def report_page(run: str, sections: Sequence[Section], facts: RunFacts, footer: str) -> str:
    """Return the whole document."""
    return render(
        "templates/report.html",
        FOLDER,
        title=f"{run}: report",
        run=run,
        sections=sections,
        facts=facts,
        footer=footer,
        policy=policy(),
        style=_style(),
        first_script=_first_script(),
        script=_scripts(),
        data_id="report-data",
        data={
            "charts": {key: chart for section in sections for key, chart in section.charts.items()},
            "timeline": next((s.timeline for s in sections if s.timeline), None),
        },
    )


def policy() -> str:
    """Return the content security policy of every report: its own style and scripts, no request."""
    return content_policy(_style(), _first_script(), _scripts())


@cache
def _style() -> Markup:
    colours = PART_COLOURS | SPAN_COLOURS | {"series": SERIES_COLOUR}
    variables = "".join(
        f"--{name}:{value};--on-{name}:{ink_on(value)};" for name, value in colours.items()
    )
    fills = "".join(
        f".fill-{name}{{fill:var(--{name});background:var(--{name})}}" for name in colours
    )
    return Markup("\n".join([typefaces(), f":root{{{variables}}}{fills}", *map(_asset, _STYLES)]))


@cache
def _first_script() -> Markup:
    """Return the script that sets the theme before the first paint, against a white flash."""
    return Markup(_asset(_FIRST_SCRIPT))


@cache
def _scripts() -> Markup:
    licence = _asset("uplot/LICENSE.txt").replace("*/", "")
    return Markup("\n".join([f"/* uPlot\n{licence}\n*/", *map(_asset, _SCRIPTS)]))


def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")
