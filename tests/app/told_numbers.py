"""What the live page, the Overview, the report and the command line say of a run."""

from __future__ import annotations

import html
import io
import json
import re
from pathlib import Path
from typing import Any

from rich.console import Console

from strategy_core.cli._summary_text import print_summary
from strategy_lab import profiles
from strategy_lab.app.live.live_run import LiveRun
from strategy_lab.profiles.analysis.facts import gather_facts
from strategy_lab.profiles.analysis.headline import headline
from strategy_lab.profiles.analysis.key_numbers import KeyNumber, key_numbers
from strategy_lab.profiles.analysis.summary import summarize
from strategy_lab.profiles.exports.html import report
from tests.app.looking import open_page, text_of

ON_COMMUNICATION = ("exposed", "traffic", "busbw")
LIVE = ("step_time", "throughput", "slowest", "loss", "traffic", "busbw")


def numbers_of(run: Path) -> tuple[str, dict[str, KeyNumber]]:
    """The headline of a run's last segment, and its key numbers by key."""
    profile = profiles.load(run)
    segment = profile.segments[-1]
    facts = gather_facts(profile, segment)
    return "".join(headline(profile, facts)), {item.key: item for item in key_numbers(facts)}


def live(run: Path) -> dict[str, Any]:
    """What viewers of the live page are sent, once the run's numbers have settled."""
    followed = LiveRun(run)
    followed.advance()
    followed.advance()
    told: dict[str, Any] = json.loads(followed.message()[0])["numbers"]
    return told


def check_live(run: Path) -> None:
    """The live page of a run that is over shows the headline and the numbers of its segment."""
    sentence, numbers = numbers_of(run)
    told = live(run)
    assert told["of"] == "all"
    assert told["headline"] == sentence
    assert tuple(key for key in numbers if key in LIVE) == LIVE
    for key, item in numbers.items():
        value, unit, note = told["numbers"][key]
        assert f"{value} {unit}".strip() == item.text, key
        assert note == item.note, key


def check_texts(run: Path) -> None:
    """Overview, Communication, report and `summary` write headline and numbers alike."""
    sentence, numbers = numbers_of(run)
    for missing in numbers.values():
        assert missing.source, f"{missing.key} is missing: {missing.note}"
    overview = plain(text_of(open_page("overview", run.parent, run=run.name)))
    in_report = plain(report(profiles.load(run)))
    in_summary = plain(command_line(run))
    for text in (overview, in_report, in_summary):
        assert plain(sentence) in text
        for item in numbers.values():
            # Each page puts a mark of the number's source in a place of its own.
            written = rf"{item.label}\b.{{0,60}}?{re.escape(item.text)} .{{0,60}}?"
            assert re.search(written + re.escape(plain(item.note)), text), (item, text)
    communication = plain(text_of(open_page("communication", run.parent, run=run.name)))
    for key in ON_COMMUNICATION:
        assert f"{numbers[key].text} " in communication


def command_line(run: Path) -> str:
    out = io.StringIO()
    print_summary(summarize(profiles.load(run)), Console(file=out, width=1000))
    return out.getvalue()


def plain(text: str) -> str:
    """Words alone: no tag, and no space before a full stop that a tag has left."""
    words = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())
    return re.sub(r" (?=[.,:])", "", words)
