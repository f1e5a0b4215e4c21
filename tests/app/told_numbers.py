"""What the live page, the Overview, the report and the command line say of a run."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

from rich.console import Console

from strategy_core.cli._summary_text import print_summary
from strategy_lab import profiles
from strategy_lab.app.live.live_run import LiveRun
from strategy_lab.profiles.analysis.key_numbers import KeyNumbers
from strategy_lab.profiles.analysis.summary import summarize
from strategy_lab.profiles.exports.html import report
from strategy_lab.profiles.reporting import units
from tests.app.looking import open_page, text_of


def live(run: Path) -> dict[str, Any]:
    """What viewers of the live page are sent, once the run's numbers have settled."""
    followed = LiveRun(run)
    followed.advance()
    followed.advance()
    told: dict[str, Any] = json.loads(followed.message()[0])["numbers"]
    return told


def check_texts(run: Path, numbers: KeyNumbers) -> None:
    """Overview, Communication, report and command line write the numbers as the same texts."""
    overview = text_of(open_page("overview", run.parent, run=run.name))
    communication = text_of(open_page("communication", run.parent, run=run.name))
    in_report = _plain(report(profiles.load(run)))
    command_line = _command_line(run)
    step, busbw = units.milliseconds(numbers.step_ms), units.bandwidth(numbers.busbw_gbps)
    rate = units.number(numbers.examples_per_second)
    assert numbers.slowest is not None
    late = units.milliseconds(numbers.slowest.late_ms)
    for text in map(_plain, (overview, in_report, command_line)):
        assert step in text
        assert rate in text
        assert late in text
        assert f"eplica {numbers.slowest.replica}" in text
    for text in map(_plain, (communication, in_report, command_line)):
        assert busbw in text


def _command_line(run: Path) -> str:
    out = io.StringIO()
    print_summary(summarize(profiles.load(run)), Console(file=out, width=1000))
    return out.getvalue()


def _plain(text: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", text).split())
