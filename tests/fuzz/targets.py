"""Everything that reads a run: each is given a folder, and answers or raises LabError."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import strategy_profiles
from strategy_app.live.live_run import LiveRun
from strategy_app.server.timelines import Timelines
from strategy_app.widgets.runs_folder import list_runs
from strategy_core.cli.main import main
from strategy_profiles.analysis.clocks import worker_clocks
from strategy_profiles.analysis.collective_calls import collective_calls
from strategy_profiles.analysis.cores import cores
from strategy_profiles.analysis.findings import findings, gather_facts
from strategy_profiles.analysis.links import links
from strategy_profiles.analysis.memory import memory_use
from strategy_profiles.analysis.overlap import overlaps
from strategy_profiles.analysis.parameter_server import parameter_serving
from strategy_profiles.analysis.placement import placement
from strategy_profiles.analysis.placement_change import placement_change
from strategy_profiles.analysis.run_row import run_row
from strategy_profiles.analysis.sends import sends
from strategy_profiles.errors import LabError
from strategy_profiles.exports import formats
from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.tables.schema import TABLES
from strategy_profiles.tables.store import Profile
from strategy_profiles.timeline import cut_view, find_spans
from strategy_profiles.timeline.wire import encode_view
from tests.plugins.leaves import from_doors

Target = Callable[[Path, Path], None]
"""(the run, a sound one of its kind), in a scratch folder that holds nothing else."""


def summary(run: Path) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The summary as JSON gives it, and the notes of the run."""
    profile = strategy_profiles.load(run)
    document = json.loads(json.dumps(profile.summary(), allow_nan=False))
    return document, profile.notes


def _command(*arguments: object) -> str:
    """One command line: it exits with 0 or 1, or with 2 and one line."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(argument) for argument in arguments])
    said = err.getvalue()
    assert code in (0, 1, 2), code
    assert code != 2 or said.count("\n") == 1, said
    assert "Traceback" not in said, said
    return out.getvalue()


def _text(run: Path, _sound: Path) -> None:
    _command("summary", run)


def _compare(run: Path, sound: Path) -> None:
    text = _command("compare", run, sound, "--json")
    if text:
        json.loads(text, parse_constant=_no_number)


def _compare_against(run: Path, sound: Path) -> None:
    _compare(sound, run)


def _compare_with_itself(run: Path, _sound: Path) -> None:
    _command("compare", run, run)


def _writing(*argv: str) -> Target:
    """A command of a leaf that reads the folder RUN and makes the folder NEW."""

    def run(run: Path, _sound: Path) -> None:
        new = run.parent / "made-new"
        _command(*({"RUN": run, "NEW": new}.get(word, word) for word in argv))
        shutil.rmtree(new, ignore_errors=True)

    return run


def _sql(run: Path, _sound: Path) -> None:
    profile = strategy_profiles.load(run)
    every = " union all ".join(f"select count(*) from {name}" for name in TABLES)
    profile.sql(every)
    profile.sql("select device, sum(wall_ms) from replica_steps group by all order by 1")


def _answering(verb: str, *options: str) -> Target:
    """A verb of a leaf that prints one JSON object about a run."""

    def run(run: Path, _sound: Path) -> None:
        text = _command(verb, run, *options)
        if text:
            json.loads(text, parse_constant=_no_number)

    return run


def _export(name: str) -> Target:
    def write(run: Path, _sound: Path) -> None:
        target = run.parent / f"export-{name}"
        _command("export", run, "--format", name, "-o", target)
        if name == "json" and target.exists():
            json.loads(target.read_text(), parse_constant=_no_number)
        if target.is_dir():
            shutil.rmtree(target)
        target.unlink(missing_ok=True)

    return write


def _live(run: Path, _sound: Path) -> None:
    live = LiveRun(run)
    live.advance()
    text, cursor = live.message()
    json.loads(text, parse_constant=_no_number)
    live.advance()
    json.loads(live.message(cursor)[0], parse_constant=_no_number)
    live.news()


def _timeline(run: Path, _sound: Path) -> None:
    timelines = Timelines(run.parent)
    described = timelines.describe(run.name)
    json.dumps(described, allow_nan=False)
    laid_out = timelines.get(run.name)
    for to_ns in (1e6, float(described["length_ns"])):
        encode_view(laid_out, cut_view(laid_out, 0.0, to_ns, 800))
    find_spans(laid_out, "all")


def _pages(run: Path, _sound: Path) -> None:
    """What the pages ask of a run, without drawing it."""
    profile = strategy_profiles.load(run)
    for of_run in (run_row, memory_use, worker_clocks):
        _call(of_run, profile)
    assert isinstance(profile.process_titles, dict)
    for name in TABLES:
        profile.table(name)
    for segment in profile.segments:
        for of_segment in (_findings, cores, parameter_serving, links):
            _call(of_segment, profile, segment)
        for of_number in (
            collective_calls,
            overlaps,
            sends,
            placement,
            *chain(*from_doors("OF_A_SEGMENT")),
        ):
            _call(of_number, profile, segment.segment)
    if len(profile.segments) > 1:
        _call(placement_change, profile, *[item.segment for item in profile.segments[:2]])


def _findings(profile: Profile, segment: SegmentOpened) -> None:
    findings(gather_facts(profile, segment))


def _call(question: Callable[..., Any], *arguments: Any) -> None:
    with contextlib.suppress(LabError):
        question(*arguments)


def _runs(run: Path, _sound: Path) -> None:
    for entry in list_runs(run.parent):
        assert isinstance(entry.title, str)


def _no_number(word: str) -> None:
    raise AssertionError(f"{word} is no JSON")


_EXPENSIVE: dict[str, Target] = {
    "compare": _compare,
    "compare against": _compare_against,
    "compare with itself": _compare_with_itself,
    "sql": _sql,
    "pages": _pages,
    **{argv[0]: _answering(*argv) for argv in from_doors("ANSWER_OF_A_RUN")},
    **{f"export {name}": _export(name) for name in formats() if name == "html"},
}
_CHEAP: dict[str, Target] = {
    "summary text": _text,
    **{argv[0]: _writing(*argv) for argv in from_doors("MAKES_A_RUN")},
    "live": _live,
    "timeline": _timeline,
    **{f"export {name}": _export(name) for name in formats() if name != "html"},
}
_QUICK: dict[str, Target] = {"runs list": _runs}
TARGETS = _QUICK | _CHEAP | _EXPENSIVE
"""Besides `summary`, which reads every case."""
QUICK, CHEAP, EXPENSIVE = tuple(_QUICK), tuple(_CHEAP), tuple(_EXPENSIVE)
"""Readers by the processor time that they need: below 1 ms, 5 to 60 ms, more."""
