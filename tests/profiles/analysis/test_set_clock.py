"""A run whose machine's wall clock was set by an hour meanwhile keeps the pace of its loop."""

from __future__ import annotations

from pathlib import Path

import pytest

import strategy_profiles
from strategy_profiles.analysis.account.regions import regions_of
from strategy_profiles.analysis.loop_pace import loop_pace
from tests.event_records import read_records, write_records
from tests.synthetic import write_run

HOUR_NS = 3_600_000_000_000
SET_AFTER, NOTED_AT = 40, 55
"""The recorder compares the clocks once a second, so that some steps lie between."""


def set_clock(run: Path, jump_ns: int) -> None:
    events = run / "worker-0-0" / "events.jsonl"
    records, changed = read_records(events), []
    for record in records:
        if record["kind"] == "step" and record["step"] > SET_AFTER:
            record["start_ns"] += jump_ns
        changed.append(record)
        if record["kind"] == "step" and record["step"] == NOTED_AT:
            fields = {"step": NOTED_AT, "jump_ns": jump_ns}
            note = {"kind": "note", "level": "warning", "message": "It was set.", "fields": fields}
            changed.append(note | {"at_ns": record["at_ns"]})
    for line, record in enumerate(changed, 1):
        record["line"] = line
    write_records(events, changed)


@pytest.mark.parametrize("jump_ns", [HOUR_NS, -HOUR_NS])
def test_the_pace_of_the_loop_has_no_hour_in_it(jump_ns: int, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=120, windows=0)
    usual = loop_pace(strategy_profiles.load(run), 0)
    set_clock(run, jump_ns)
    profile = strategy_profiles.load(run)
    pace, regions = loop_pace(profile, 0), regions_of(profile, 0)
    assert pace.ms_per_step == pytest.approx(usual.ms_per_step, rel=0.05)
    assert pace.examples_per_second == pytest.approx(usual.examples_per_second, rel=0.05)
    assert regions is not None
    assert 0 < regions.loop_ms < 10_000
