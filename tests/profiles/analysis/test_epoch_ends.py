"""The ends of epochs: which count, what is said of them, and that they are no other gap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from strategy_lab import profiles
from strategy_lab.profiles.analysis.between_steps import between_steps
from strategy_lab.profiles.analysis.epoch_ends import epoch_ends
from strategy_lab.profiles.analysis.facts import Finding
from strategy_lab.profiles.analysis.findings import findings, gather_facts
from strategy_lab.profiles.timeline import lay_out
from strategy_lab.profiles.timeline.epoch_ends import epoch_ends_of
from tests.synthetic import write_run

STEPS = 120
Said = Callable[..., list[Finding]]


@pytest.fixture
def said(tmp_path: Path) -> Said:
    """What is said of the ends of epochs of a run; its steps take about 24 ms."""

    def of_run(*ends: dict[str, Any]) -> list[Finding]:
        run = tmp_path / f"run-{len(list(tmp_path.iterdir()))}"
        write_run(run, replicas=2, steps=STEPS, windows=0, epoch_ends=ends)
        profile = profiles.load(run)
        facts = gather_facts(profile, profile.segments[0])
        return [item for item in findings(facts) if item.key == "epoch-end"]

    return of_run


def _ends(*lengths_ms: float, **more: Any) -> list[dict[str, Any]]:
    return [
        {"step": 20 * number + 19, "wall_ms": length_ms, **more}
        for number, length_ms in enumerate(lengths_ms)
    ]


def test_validation_that_takes_most_is_named_with_its_first_tracing(said: Said) -> None:
    ends = _ends(2000.0, 500.0, 500.0, 500.0)
    for end in ends:
        end["validation_ms"] = 0.9 * end["wall_ms"]
    (found,) = said(*ends)
    assert found.sentence.startswith(
        "At the end of 4 epochs Keras's fit took 3.50 s until the next step (median 500 ms): "
    )
    assert (
        "90 % of that is validation. The first validation, which traces and compiles, took "
        "1.80 s, the others 450 ms (median). Step times do not include it."
    ) in found.sentence
    assert found.advice.startswith("Validate less often")
    assert found.cost is not None
    assert found.cost.of == "loop"
    assert found.cost.share == pytest.approx(0.56, abs=0.05)


def test_a_single_validation_is_said_to_be_the_first(said: Said) -> None:
    (found,) = said({"step": 59, "wall_ms": 2000.0, "validation_ms": 1900.0})
    assert "At the end of an epoch Keras's fit took 2.00 s" in found.sentence
    assert "This is the first validation, which traces and compiles" in found.sentence


def test_callbacks_that_take_most_are_named(said: Said) -> None:
    (found,) = said(*_ends(800.0, 800.0, 800.0, callbacks_ms=700.0))
    assert "88 % of that is in the callbacks' on_epoch_end. Step times" in found.sentence
    assert "checkpoints" in found.advice


def test_without_a_largest_part_longer_epochs_are_advised(said: Said) -> None:
    for more, mentions in (({"callbacks_ms": 1.0}, False), ({}, True)):
        (found,) = said(*_ends(800.0, 800.0, 800.0, **more))
        assert "time from step to step. Step times do not include it." in found.sentence
        assert found.advice.startswith("Make epochs longer")
        assert ("callbacks" in found.advice) is mentions, "unknown, or known not to be it"


def test_short_ends_are_not_mentioned(said: Said) -> None:
    assert not said(*_ends(80.0, 80.0, 80.0))


def test_the_last_end_and_those_at_a_window_do_not_count(tmp_path: Path) -> None:
    """Windows of the run begin at steps 1, 37 and 73 and have 10 steps each."""
    ends = [{"step": step, "wall_ms": 500.0} for step in (10, 40, 72, STEPS - 1)]
    run = write_run(tmp_path / "run", replicas=2, steps=STEPS, windows=3, epoch_ends=ends)
    profile = profiles.load(run)
    windows = profile.table("steps").filter(profile.table("steps")["captured"])["step"].to_pylist()
    assert {10, 40, 73} <= set(windows)
    assert not {11, 72} & set(windows)
    assert [end.step for end in epoch_ends(profile, 0).ends] == [40]


def test_an_epochs_end_is_no_other_gap(tmp_path: Path) -> None:
    without, with_ends = (
        profiles.load(
            write_run(tmp_path / name, replicas=2, steps=STEPS, windows=0, epoch_ends=ends)
        )
        for name, ends in (("a", []), ("b", _ends(500.0, 500.0, 500.0)))
    )
    gaps = [between_steps(profile, 0).gaps_ms for profile in (without, with_ends)]
    assert len(gaps[0]) - len(gaps[1]) == 3


def test_parameter_servers_have_no_steps_one_after_the_other(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", replicas=2, steps=STEPS, epoch_ends=_ends(900.0, 900.0))
    profile = profiles.load(run)
    facts = gather_facts(profile, profile.segments[0])
    beside = replace(facts, breakdown=replace(facts.breakdown, is_in_sync=False))
    assert [item.key for item in findings(facts) if item.key == "epoch-end"] == ["epoch-end"]
    assert not [item for item in findings(beside) if item.key == "epoch-end"]


def test_the_summary_has_the_ends_or_why_there_are_none(tmp_path: Path) -> None:
    found = []
    for name, ends in (("a", []), ("b", _ends(500.0, 700.0))):
        run = write_run(tmp_path / name, replicas=2, steps=STEPS, windows=0, epoch_ends=ends)
        found.append(profiles.load(run).summary()["segments"][0]["epoch_ends"])
    assert found[0]["count"] == 0
    assert found[0]["total_ms"] is None
    assert "no end of an epoch" in found[0]["total_ms_reason"]
    assert (found[1]["count"], found[1]["total_ms"], found[1]["median_ms"]) == (2, 1200, 600)
    assert "one of the callbacks" in found[1]["callbacks_ms_reason"]


def test_the_timeline_has_them_between_its_steps(tmp_path: Path) -> None:
    ends = [{"step": 19, "wall_ms": 500.0, "validation_ms": 400.0}, {"step": 39, "wall_ms": 50.0}]
    run = write_run(tmp_path / "run", replicas=2, steps=STEPS, windows=3, epoch_ends=ends)
    profile = profiles.load(run)
    timeline = lay_out(profile)
    found = epoch_ends_of(profile, timeline)
    assert [each["text"] for each in found] == [
        "end of an epoch, 500 ms, most of it validation",
        "end of an epoch, 50.0 ms",
    ]
    ended = profile.table("steps")["start_ns"].to_numpy() - timeline.origin_ns
    assert np.abs(found[0]["start"] - ended[20]) < 1e5
    assert found[0]["end"] - found[0]["start"] == 500_000_000
