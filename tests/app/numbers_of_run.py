"""What the live page and the documents for programs say of a run."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import strategy_profiles
from strategy_app.live.live_run import LiveRun
from strategy_profiles.analysis.compare.document import comparison_document
from strategy_profiles.analysis.compare.run_comparison import chosen_segment, compare_sets
from strategy_profiles.analysis.facts import gather_facts
from strategy_profiles.analysis.headline import headline
from strategy_profiles.analysis.key_numbers import key_numbers
from strategy_profiles.analysis.steps import step_times, typical_captured_steps
from strategy_profiles.analysis.summary import summarize
from strategy_profiles.answers.answer import KeyNumber
from strategy_profiles.capture.reductions import LAB_MARKS
from strategy_profiles.exports import write
from strategy_profiles.exports.key_metrics import segment_metrics

LIVE = ("loop_time", "loop_throughput", "step_time", "slowest", "loss", "traffic", "busbw")


def numbers_of(run: Path) -> tuple[str, dict[str, KeyNumber]]:
    """The headline of a run's last segment, and its key numbers by key."""
    profile = strategy_profiles.load(run)
    segment = profile.segments[-1]
    facts = gather_facts(profile, segment)
    return "".join(headline(profile, facts)), {item.key: item for item in key_numbers(facts)}


def live(run: Path) -> dict[str, Any]:
    """What viewers of the live page are sent, once the run's numbers have settled."""
    followed = LiveRun(run)
    followed.advance()
    followed.advance()
    sent: dict[str, Any] = json.loads(followed.message()[0])["numbers"]
    return sent


def check_live(run: Path) -> None:
    """The live page of a run that is over shows the numbers of its segment."""
    numbers = numbers_of(run)[1]
    sent = live(run)
    assert sent["of"] == "all"
    assert tuple(key for key in numbers if key in LIVE) == LIVE
    for key, item in numbers.items():
        value, unit, note = sent["numbers"][key]
        assert f"{value} {unit}".strip() == item.text, key
        assert note == item.note, key


def check_documents(run: Path, scratch: Path) -> None:
    """Every document for programs has the numbers of the pages, as numbers.

    Its last segment is the one with the most steps, of which `compare` speaks.
    """
    profile, numbers = strategy_profiles.load(run), numbers_of(run)[1]
    values = {key: item.value for key, item in numbers.items() if item.value is not None}
    opened = profile.segments[-1]
    facts = gather_facts(profile, opened)
    waits = {each.replica: each.wait_ms for each in facts.breakdown.replicas}
    assert None not in waits.values()

    summary = summarize(profile)
    last = summary["segments"][-1]
    assert last["steps"]["wall_ms"]["median"] == values["step_time"]
    assert last["steps"]["examples_per_second"] == values["throughput"]
    assert last["bytes_per_step"]["collective"] == values["traffic"]
    assert last["busbw_gbps"] == values["busbw"]
    assert last["loss"]["last"] == values["loss"]
    assert last["efficiency"]["parallel"] == values["parallel_efficiency"]
    assert (last["straggler"] or {}).get("late_ms") == values.get("slowest")
    assert {each["replica"]: each["wait_ms"] for each in last["replicas"]} == waits

    whole = json.loads(write(profile, "json", scratch / "run.json").read_text())
    assert whole["summary"] == json.loads(json.dumps(summary))

    (metrics,) = (item.metrics for item in segment_metrics(profile) if item.segment == opened)
    assert {item.key: item.value for item in metrics} == values

    compared = comparison_document(compare_sets([profile], [profile]), [])
    (side,) = compared["a"]["runs"]
    if not chosen_segment(profile, None)[1].time.num_warm_up:
        assert side["median_ms"] == pytest.approx(values["step_time"])

    check_tables(run, values, waits, scratch)


def check_tables(
    run: Path, values: dict[str, float], waits: dict[int, float | None], scratch: Path
) -> None:
    """A reader of the tables alone computes the same, by SQL and from CSV files."""
    profile = strategy_profiles.load(run)
    number = profile.segments[-1].segment
    first = int(step_times(profile, number).step[0])
    timed = f"segment = {number} and step > {first} and not traced and not captured"
    (row,) = profile.sql(
        f"select median(wall_ms) as step_ms, sum(examples) / sum(wall_ms) * 1000 as rate "
        f"from steps where {timed}"
    ).to_pylist()
    assert row["step_ms"] == pytest.approx(values["step_time"])
    assert row["rate"] == pytest.approx(values["throughput"])
    steps = ", ".join(map(str, typical_captured_steps(profile, number).tolist()))
    rows = profile.sql(
        f"select replica, avg(wait_ms) as wait_ms from replica_steps "
        f"where segment = {number} and step in ({steps}) group by replica"
    ).to_pylist()
    assert {each["replica"]: each["wait_ms"] for each in rows} == pytest.approx(waits)
    # A replica may lack the last row of a capture, so the one with most bytes counts.
    (row,) = profile.sql(
        "select sum(most) / count(distinct step) as bytes from (select step, op, max(bytes) as "
        "most from (select step, op, replica, sum(bytes) as bytes from collectives "
        f"where segment = {number} and op <> '{LAB_MARKS}' group by all) group by all)"
    ).to_pylist()
    assert row["bytes"] == pytest.approx(values["traffic"])

    with (write(profile, "csv", scratch / "csv") / "steps.csv").open() as file:
        kept = [
            float(each["wall_ms"])
            for each in csv.DictReader(file)
            if int(each["segment"]) == number
            and int(each["step"]) > first
            and each["traced"] == each["captured"] == "false"
        ]
    assert np.median(kept) == pytest.approx(values["step_time"])
