"""The page around the sections: one file without any request, with scripts pinned by their hash."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from strategy_lab.profiles.exports.content_policy import content_policy
from strategy_lab.profiles.exports.report.markup import Markup, join, json_block, tag
from strategy_lab.profiles.exports.report.section import Section
from strategy_lab.profiles.reporting.palette import (
    PHASE_COLOURS,
    SERIES_COLOUR,
    SPAN_COLOURS,
    ink_on,
)

ASSETS = Path(__file__).parent / "assets"
_STYLES = ("uplot/uPlot.min.css", "report.css")
_FIRST_SCRIPT = "theme.js"
_SCRIPTS = ("uplot/uPlot.iife.min.js", "charts.js", "timeline.js", "tables.js")


def render(title: str, run: str, sections: Sequence[Section], footer: str) -> str:
    """Return the whole document."""
    head = join(
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy()),
        tag("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name_="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", _style()),
        tag("script", _first_script()),
    )
    data = {
        "charts": {key: chart for section in sections for key, chart in section.charts.items()},
        "timeline": next((s.timeline for s in sections if s.timeline), None),
    }
    body = join(
        tag("a", "Skip to the report", href="#overview", class_="skip"),
        _top(run, sections),
        tag("main", *map(_section, sections), tag("footer", footer)),
        json_block("report-data", data),
        tag("script", _scripts()),
    )
    document = tag("html", tag("head", head), tag("body", body), lang="en")
    return f"<!DOCTYPE html>\n{document}\n"


def policy() -> str:
    """Return the content security policy of every report: its own style and scripts, no request."""
    return content_policy(_style(), _first_script(), _scripts())


def _top(run: str, sections: Sequence[Section]) -> Markup:
    links = [tag("a", item.title, href=f"#{item.key}") for item in sections]
    return tag(
        "header",
        tag("span", run, class_="run", title=run),
        tag("nav", *links, aria_label="Sections"),
        tag("button", "Light / dark", id="theme", type="button", hidden=True),
        class_="top",
    )


def _section(section: Section) -> Markup:
    heading = tag("h2", section.title) if section.key != "overview" else None
    return tag("section", heading, section.body, id=section.key, aria_label=section.title)


@cache
def _style() -> Markup:
    colours = PHASE_COLOURS | SPAN_COLOURS | {"series": SERIES_COLOUR}
    variables = "".join(
        f"--{name}:{value};--on-{name}:{ink_on(value)};" for name, value in colours.items()
    )
    fills = "".join(
        f".fill-{name}{{fill:var(--{name});background:var(--{name})}}" for name in colours
    )
    return Markup("\n".join([f":root{{{variables}}}{fills}", *map(_asset, _STYLES)]))


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
