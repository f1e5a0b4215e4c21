"""A run with a live change: all that show its numbers show those of one segment, and name it.

Its first segment has more steps than its last. In the last, captured steps take twice as long as
the others.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import strategy_profiles
from strategy_profiles.analysis.findings import gather_facts
from strategy_profiles.analysis.key_numbers import key_numbers
from strategy_profiles.analysis.run_row import run_row
from strategy_profiles.analysis.summary import summarize
from tests.app.numbers_of_run import check_live, numbers_of
from tests.event_records import read_records, write_records
from tests.synthetic import write_run

SEGMENTS = [{}, {"steps": 40, "windows": 1, "global_batch_size": 512, "tracing_ms": 8_000.0}]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = write_run(tmp_path_factory.mktemp("runs") / "changed", steps=120, segments=SEGMENTS)
    path = run / "worker-0-0" / "events.jsonl"
    records = read_records(path)
    changed = [each for each in records if each["kind"] == "step" and each["segment"] == 1]
    start_ns = changed[0]["start_ns"]
    for step in changed:
        step["wall_ms"] /= 1 if step["captured"] else 2
        step["start_ns"] = start_ns
        start_ns += round(step["wall_ms"] * 1e6) + 10_000
    write_records(path, records)
    return run


def test_live_page_and_list_of_runs_show_the_last_segment(run: Path) -> None:
    check_live(run)
    profile = strategy_profiles.load(run)
    assert numbers_of(run)[0].startswith("Segment 1: mirrored on 4 replicas")
    (first, last) = summarize(profile)["segments"]
    assert first["headline"].startswith("Segment 0: mirrored on 4 replicas")
    assert run_row(profile).step_ms == last["steps"]["wall_ms"]["median"]


def test_shares_of_a_loop_name_the_segment_whose_loop_it_is(run: Path) -> None:
    """8 s of tracing are most of the last segment, and less of the run."""
    (_, last) = summarize(strategy_profiles.load(run))["segments"]
    (tracing,) = [item for item in last["findings"] if item["key"] == "tracing"]
    assert " % of the loop" in tracing["cost_text"]
    assert " % of the loop of segment 1, because it includes" in tracing["sentence"]


def test_captured_steps_unlike_the_others_are_named_beside_every_number_of_them(run: Path) -> None:
    profile = strategy_profiles.load(run)
    facts = gather_facts(profile, profile.segments[1])
    took = f"{facts.breakdown.mean_ms('wall'):.1f} ms"
    said = f"The captured steps took {took} on average, other steps take "
    notes = {item.key: item.note for item in key_numbers(facts)}
    assert notes["exposed"].endswith(f"% of a captured step of {took}")
    for key in ("parallel_efficiency", "busbw"):
        assert notes[key].endswith(f"in captured steps of {took}")
    (first, last) = summarize(profile)["segments"]
    assert last["capture"]["unlike_others"].startswith(said)
    assert first["capture"]["unlike_others"] is None
    assert "captured" not in first["headline"]
